// The log: every action with its time, from the gesture to the redrawn map.
"use strict";

window.octavoLog = (() => {
  const {$} = window.octavoTip;
  const MANY = 5000; // rows, of which drawing takes most of the time
  const LIMIT = octavoAbout.rows > MANY ? 150 : 50; // milliseconds that an action may take
  const KEPT = 500; // entries: a page that is used for days must not grow
  const entries = [];
  const unwritten = new Set();
  const ms = (x) => `${x.toFixed(x < 10 ? 1 : 0)} ms`;

  function record(gesture, reply, total) {
    if (reply.action === "state") return;
    const solve = 1000 * reply.seconds;
    const key = gesture.live ? `${gesture.kind} ${gesture.drag}` : null;
    let entry = entries.at(-1);
    if (key && entry && entry.key === key && entry.ok === reply.ok) {
      entry.steps.push(total);
      entry.solves.push(solve);
      entry.detail = reply.detail;
    } else {
      entry = {key, when: new Date(), action: reply.action, detail: reply.detail, ok: reply.ok,
        drawn: reply.moved || reply.coloured, steps: [total], solves: [solve], line: null};
      entries.push(entry);
      if (entries.length > KEPT) {
        const old = entries.shift();
        unwritten.delete(old);
        if (old.line) old.line.remove();
      }
    }
    entry.slowest = Math.max(entry.slowest || 0, total);
    unwritten.add(entry);
  }

  function summarise() {
    const drawn = entries.filter((e) => e.drawn && e.ok);
    if (!drawn.length) return;
    $("latency").textContent = `redrawn in ${ms(drawn.at(-1).steps.at(-1))}`;
    const times = drawn.flatMap((e) => e.steps).sort((a, b) => a - b);
    const within = times.filter((t) => t <= LIMIT).length;
    $("summary").textContent = `${times.length} redrawn · median ${ms(times[times.length >> 1])} · ` +
      `${Math.round(100 * within / times.length)}% within ${LIMIT} ms`;
  }

  function writeLine(entry) {
    if (!entry.line) {
      entry.line = $("log").insertRow(0);
      for (let k = 0; k < 5; k++) entry.line.insertCell();
      entry.line.cells[3].className = entry.line.cells[4].className = "number";
    }
    const many = entry.steps.length > 1;
    const texts = [
      entry.when.toLocaleTimeString("en-GB"), entry.ok ? entry.action : "refused",
      entry.ok ? entry.detail + (many ? `, ${entry.steps.length} steps, slowest` : "") : entry.action,
      ms(Math.max(...entry.solves)), entry.ok ? ms(entry.slowest) : "",
    ];
    texts.forEach((text, k) => { entry.line.cells[k].textContent = text; });
    entry.line.className = !entry.ok ? "refused" : entry.drawn && entry.slowest > LIMIT ? "slow" : "";
  }

  function write() {
    unwritten.forEach(writeLine);
    unwritten.clear();
    summarise();
  }

  return {entries, record, write};
})();
