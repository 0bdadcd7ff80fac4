// The page: one gesture at a time goes to Python, and what comes back is shown and timed.
"use strict";

window.octavo = (() => {
  const about = window.octavoAbout;
  const {$, make} = window.octavoTip;
  const QUIET = new Set(["row", "meter", "why", "thumbnails"]); // no actions of the user
  const PATIENCE = 150; // milliseconds between two looks of the panels during a drag
  const page = {log: octavoLog.entries, state: about.state, rows: new Map(), models: null,
    view: null, window: null, layers: null, drawing: about.drawing};
  let number = 0, flying = null, queue = [], wanted = null, hovered = -1, mouse = null, watchdog = 0;
  let metered = true, chosen = null, before = null; // meter up to date; side by side as chosen; map before a drag

  const dead = () => document.body.classList.contains("dead");

  // --- the line to Python ------------------------------------------------------------------------

  function send(gesture, then) {
    const last = queue.at(-1);
    // Of a drag, only the latest place matters.
    if (gesture.live && last && last.gesture.live && last.gesture.drag === gesture.drag) queue.pop();
    queue.push({gesture, then, asked: performance.now()});
    pump();
  }

  function pump() {
    if (flying || !page.models || dead()) return;
    if (!queue.length && wanted !== null) {
      queue.push({gesture: {kind: "row", index: wanted}, then: keepRow, asked: performance.now()});
      wanted = null;
    }
    if (!queue.length && !metered) {
      metered = true;
      queue.push({gesture: {kind: "meter"}, then: ({result}) => { octavoMeter.show(result); octavoGuide.look(); }});
    }
    if (!queue.length) return;
    flying = queue.shift();
    flying.sent = performance.now();
    flying.gesture.number = ++number;
    watchdog = setTimeout(lost, 15000);
    page.models.gesture.data = {json: [JSON.stringify(flying.gesture)]};
  }

  function answered() {
    const reply = JSON.parse(page.models.answer.data.json[0]);
    if (!flying || reply.number !== flying.gesture.number) return;
    const done = flying;
    clearTimeout(watchdog);
    alive(); // it was only late
    page.state = reply.state;
    const finish = () => {
      const total = performance.now() - done.sent;
      flying = null;
      if (!QUIET.has(reply.action)) { // once the map is on the screen
        octavoLog.record(done.gesture, reply, total);
        present(reply, done.gesture.live && !done.gesture.last);
      }
      if ((reply.moved || reply.coloured) && (!done.gesture.live || done.gesture.last)) {
        if (reply.moved) page.window.follow();
        metered = false;
        layOut();
      }
      if (reply.ok && done.then) done.then(reply);
      pump();
    };
    if (reply.ok && (reply.moved || reply.coloured)) {
      redraw(reply.drawing);
      octavoMap.seen(finish);
    } else finish();
  }

  // In place: Bokeh would send a property that is set back to Python.
  function redraw(drawing) {
    const {answer, points, baseline} = page.models;
    const [moved] = answer.data.points, [colours] = answer.data.colours;
    if (moved) {
      const n = moved.length / 2, part = (k) => new Float32Array(moved.buffer, moved.byteOffset + 4 * k * n, n);
      [points.data.x, points.data.y] = [part(0), part(1)];
    }
    if (colours) {
      page.colours = colours;
      points.data.colour = baseline.data.colour = octavoTheme.tinted(colours);
      page.layers.plain.draw();
    }
    page.drawing = drawing || page.drawing;
    page.layers.steered.draw();
    octavoGuide.lay();
  }

  function drawAll() {
    for (const layer of Object.values(page.layers)) layer.draw();
  }

  function lost() {
    document.body.classList.add("dead");
    $("lost").hidden = false;
    $("latency").textContent = "not connected";
  }

  function alive() {
    document.body.classList.remove("dead");
    $("lost").hidden = true;
  }

  function found() {
    alive();
    [flying, queue] = [null, []];
    clearTimeout(watchdog);
    send({kind: "state"}); // what happened to the gesture under way is not known
  }

  // --- what is shown ----------------------------------------------------------------------------

  // Panels wait while a drag goes on: laying them out takes time that the map needs.
  let presented = 0, waiting = 0;
  function present(reply, going) {
    clearTimeout(waiting);
    if (going && performance.now() - presented < PATIENCE) {
      waiting = setTimeout(() => present(reply, false), PATIENCE);
      return;
    }
    presented = performance.now();
    show(reply);
    octavoLog.write();
  }

  function say(text, offer) {
    $("message").hidden = !text;
    $("message").firstElementChild.textContent = text;
    $("message-do").hidden = !offer;
    if (offer) {
      $("message-do").textContent = offer.name;
      $("message-do").onclick = offer.act;
    }
  }

  // Two maps that are the same say nothing: the plain one comes when there is a difference, or
  // when it is asked for.
  function layOut() {
    const {placements, links, labels} = page.state.constraints;
    const steered = placements.length + links.length + labels.length > 0;
    if (chosen === null) $("beside").checked = steered;
    $("plain-figure").hidden = !$("beside").checked || !$("guide").hidden;
    $("guide-again").setAttribute("aria-pressed", !$("guide").hidden);
  }

  // A soft pin that holds its point far from where it was put: why?
  function askWhy(index) {
    send({kind: "why", index, from: before.at}, ({result}) => {
      if (!result) return;
      const pin = page.state.constraints.placements.find((p) => p.point === index);
      say(result.text, result.exact && pin && {name: "Pin exactly", act: () => {
        say("");
        send({kind: "pin", index, x: pin.at[0], y: pin.at[1], exact: true});
      }});
    });
  }

  function show(reply) {
    say(reply && !reply.ok ? reply.message : "");
    const {state} = page;
    $("undo").disabled = !state.can_undo;
    $("redo").disabled = !state.can_redo;
    showKey();
    showConstraints();
    for (const [name, value] of Object.entries(state.strengths)) {
      const input = $(`strength-${name}`);
      if (document.activeElement !== input || !(reply && reply.action === "strength"))
        input.value = value > 0 ? Math.log10(value) : input.min;
      input.nextElementSibling.value = value > 0 ? String(+value.toPrecision(2)) : "off";
    }
    $("classes").replaceChildren(...state.classes.map(([name]) => new Option(name)));
    showSelection();
  }

  let shownKey = "";
  function showKey() {
    const {key, column} = page.state;
    if (JSON.stringify(key) === shownKey) return;
    shownKey = JSON.stringify(key);
    $("column").value = column;
    const parts = [];
    if (key.ramp.length) {
      const ramp = make("div", "", "ramp");
      ramp.style.background = `linear-gradient(to right, ${key.ramp.map(octavoTheme.shade).join(",")})`;
      const ends = make("div", "", "ends");
      ends.append(...key.entries.map(([text]) => make("span", text)));
      parts.push(ramp, ends);
    } else {
      for (const [text, colour] of key.entries) {
        const entry = make("span"), dot = make("i");
        dot.style.background = octavoTheme.shade(colour);
        entry.append(dot, text);
        parts.push(entry);
      }
    }
    $("key").replaceChildren(...parts);
  }

  function showConstraints() {
    const {placements, links, labels} = page.state.constraints;
    const places = (at) => at.map((v) => (v === null ? "free" : v.toFixed(2))).join(", ");
    const name = (code) => {
      const known = page.state.classes.find(([, , c]) => String(c) === String(code));
      return known ? (known[0] === known[1] ? known[0] : `${known[0]} ${known[1]}`) : "";
    };
    const lines = [
      ...placements.map((p) => [p.hard ? "◻" : "◯", "pin", `row ${p.point} at ${places(p.at)}`,
        {kind: "release", indices: [p.point]}, [p.point]]),
      ...links.map((k) => [k.sign > 0 ? "━" : "┅", k.sign > 0 ? "together" : "apart",
        `rows ${k.points.join(" and ")}`, {kind: "unlink", indices: k.points}, k.points]),
      ...labels.map((e) => ["●", "label", `row ${e.point} = ${name(e.label)}`,
        {kind: "unlabel", indices: [e.point]}, [e.point]]),
    ].map(([sign, kind, text, undo, rows]) => {
      const line = make("li"), remove = make("button", "×");
      remove.title = "Take this constraint away";
      remove.onclick = (e) => { e.stopPropagation(); send(undo); };
      line.onclick = () => select(rows);
      line.append(make("span", sign), make("span", kind), make("span", text, "where"), remove);
      return line;
    });
    if (!lines.length)
      lines.push(make("li", "Drag a point to where it belongs, or select two and link them.", "empty"));
    $("constraints").replaceChildren(...lines);
    const count = (n, what) => (n ? [`${n} ${what}${n > 1 ? "s" : ""}`] : []);
    $("counts").textContent = [...count(placements.length, "pin"), ...count(links.length, "link"),
      ...count(labels.length, "label")].join(" · ") || "none yet";
    $("clear").disabled = !(placements.length + links.length + labels.length);
  }

  // --- the selection -----------------------------------------------------------------------------

  const selection = () => (page.models ? [...page.models.points.selected.indices] : []);

  function select(rows) {
    if (dead()) return;
    page.models.points.selected.indices = rows;
    page.models.baseline.selected.indices = rows;
    showSelection();
  }

  function pick(index) {
    const rows = selection();
    if (index < 0) select([]);
    else select(rows.includes(index) ? rows.filter((i) => i !== index) : [...rows, index]);
  }

  function showSelection() {
    const rows = new Set(selection());
    const {placements, links, labels} = page.state.constraints;
    $("selected").textContent = !rows.size ? "none" : rows.size > 2 ? `${rows.size} points` :
      `row${rows.size > 1 ? "s" : ""} ${[...rows].join(" and ")}`;
    $("link").disabled = $("separate").disabled = rows.size !== 2;
    $("unlink").disabled = rows.size !== 2 || !links.some((k) => k.points.every((i) => rows.has(i)));
    $("label").disabled = !rows.size;
    $("unlabel").disabled = !labels.some((e) => rows.has(e.point));
    $("release").disabled = !placements.some((p) => rows.has(p.point));
  }

  // --- the row under the mouse -------------------------------------------------------------------

  function hover(index, event) {
    mouse = event || mouse;
    if (index === hovered) { octavoTip.follow(mouse); return; }
    hovered = index;
    octavoTip.hide();
    if (index < 0) { wanted = null; return; }
    if (page.rows.has(index)) octavoTip.show(page.rows.get(index), mouse);
    else { wanted = index; pump(); }
  }

  function keepRow({result}) {
    if (page.rows.size > 2000) page.rows.clear();
    page.rows.set(result.index, result);
    if (hovered === result.index) octavoTip.show(result, mouse);
  }

  // --- files -------------------------------------------------------------------------------------

  function download(name, type, content) {
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([content], {type}));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  // From what the page knows, so that it works when the server is gone.
  function saveConstraints() {
    download("octavo-constraints.json", "application/json",
      JSON.stringify(page.state.constraints, null, 1) + "\n");
  }

  function savePicture(format) {
    send({kind: "picture", format, beside: $("beside").checked}, ({result}) => {
      const bytes = Uint8Array.from(atob(result.base64), (c) => c.charCodeAt(0));
      download(`octavo-map.${format}`, result.type, bytes);
    });
  }

  function savePage() {
    send({kind: "page"}, ({result}) => download("octavo-map.html", "text/html", result));
  }

  function pictures() {
    const on = $("pictures").checked;
    const turn = () => { octavoThumbnails.turn($("pictures").checked); drawAll(); };
    if (!on || octavoThumbnails.has()) { turn(); return; }
    send({kind: "thumbnails"}, ({result}) => {
      if (result) octavoThumbnails.keep(result);
      else say("The pictures of these rows are too many to be shown at once.");
      turn();
    });
  }

  function dress() {
    const {steered, plain, points, baseline} = page.models;
    octavoTheme.dress(steered);
    octavoTheme.dress(plain);
    points.data.colour = baseline.data.colour = octavoTheme.tinted(page.colours);
    drawAll();
    shownKey = "";
    showKey();
  }

  async function openFile() {
    const [file] = $("file").files;
    $("file").value = "";
    if (!file) return;
    if (file.size > 4e7) {
      say(`${file.name} was not imported: it is larger than 40 MB, so it cannot be constraints.`);
      return;
    }
    send({kind: "import", name: file.name, text: await file.text()});
  }

  // --- the beginning -----------------------------------------------------------------------------

  function bindControls() {
    $("column").append(...about.columns.map((name) => new Option(name)));
    $("column").onchange = () => send({kind: "colour", column: $("column").value});
    for (const kind of ["undo", "redo", "clear"]) $(kind).onclick = () => send({kind});
    for (const kind of ["unlink", "unlabel", "release"])
      $(kind).onclick = () => send({kind, indices: selection()});
    const link = (sign) => send({kind: "link", indices: selection(), sign}, () => select([]));
    $("link").onclick = () => link(1);
    $("separate").onclick = () => link(-1);
    $("label-form").onsubmit = (e) => {
      e.preventDefault();
      if (selection().length)
        send({kind: "label", indices: selection(), name: $("class").value}, () => select([]));
    };
    let slides = 0;
    for (const [name, text] of Object.entries(about.strengths)) {
      const line = make("label", "", "strength"), input = make("input"), shown = make("output");
      Object.assign(input, {type: "range", min: -2, max: 3, step: 0.05, id: `strength-${name}`});
      input.onpointerdown = input.onkeydown = () => { slides += 1; };
      input.oninput = () => send({kind: "strength", name, live: true, drag: `slide ${slides}`,
        value: +input.value <= +input.min ? 0 : 10 ** +input.value});
      line.append(make("span", text[0].toUpperCase() + text.slice(1)), input, shown);
      $("strengths").append(line);
    }
    for (const format of ["png", "svg"]) $(format).onclick = () => savePicture(format);
    $("page").onclick = savePage;
    $("pictures-switch").hidden = !about.pictures;
    $("pictures").onchange = pictures;
    for (const el of document.querySelectorAll("[data-do='save-constraints']")) el.onclick = saveConstraints;
    $("open").onclick = () => $("file").click();
    $("file").onchange = openFile;
    const code = $("code-dialog"), text = code.querySelector("pre");
    $("code").onclick = () => send({kind: "code"}, ({result}) => {
      text.textContent = result;
      code.showModal();
    });
    $("copy-code").onclick = () => navigator.clipboard.writeText(text.textContent);
    $("save-code").onclick = () => download("octavo-map.py", "text/x-python", text.textContent);
    $("close-code").onclick = () => code.close();
    $("message-close").onclick = () => say("");
    $("beside").onchange = () => { chosen = $("beside").checked; layOut(); };
    addEventListener("keydown", (e) => {
      if (e.target.matches("input[type='text'], select")) return;
      const command = e.ctrlKey || e.metaKey, letter = e.key.toLowerCase();
      if (command && letter === "z") {
        e.preventDefault();
        $(e.shiftKey ? "redo" : "undo").click();
      } else if (command && letter === "y") {
        e.preventDefault();
        $("redo").click();
      } else if (e.key === "Escape" && page.models) select([]);
    });
    addEventListener("beforeunload", (e) => {
      if (page.state.can_undo && !dead()) e.preventDefault();
    });
  }

  // The first time is the slowest: answer and draw where nobody waits for it.
  function warmUp() {
    for (let k = 0; k < 5; k++) send({kind: "state"});
  }

  // The lasso selects what it encloses; with Shift, too.
  function enclose(layer, {geometry}) {
    if (geometry.type !== "poly") return;
    const rows = layer.inside(geometry.x, geometry.y);
    select(page.shift ? [...new Set([...selection(), ...rows])] : rows);
  }

  function start(models) {
    page.models = models;
    const roots = [...Bokeh.index.roots];
    const view = (model) => roots.find((root) => root.model === model);
    page.view = view(models.steered);
    const on = {
      hover,
      pick,
      pins: () => page.state.constraints.placements.map(({point, at}) => (
        {index: point, x: at[0] ?? models.points.data.x[point], y: at[1] ?? models.points.data.y[point]})),
      drag: (index, x, y, drag, last) => {
        const {data} = models.points, exact = $("exact").checked;
        if (!before || before.drag !== drag) before = {drag, at: [data.x[index], data.y[index]]};
        send({kind: "pin", index, x, y, live: true, drag, exact, last}, last && (() => askWhy(index)));
      },
    };
    page.colours = models.points.data.colour;
    new octavoMap.PlotPointer(page.view, models.points, $("steered-plot"), on, true);
    new octavoMap.PlotPointer(view(models.plain), models.baseline, $("plain-plot"), on, false);
    models.answer.properties.data.change.connect(answered);
    for (const source of [models.points, models.baseline])
      source.selected.properties.indices.change.connect(() => {
        const rows = source.selected.indices, other = source === models.points ? models.baseline : models.points;
        if (String(other.selected.indices) !== String(rows)) other.selected.indices = rows;
        drawAll();
        showSelection();
      });
    page.window = new octavoMap.Window(page.view, () => [models.points.data, models.baseline.data, page.drawing.pins]);
    page.layers = {
      steered: new octavoLayers.Layer(page.view, models.points, $("steered-plot"), () => page.drawing),
      plain: new octavoLayers.Layer(view(models.plain), models.baseline, $("plain-plot"), () => null),
    };
    for (const [name, layer] of Object.entries(page.layers))
      models[name].on_event("selectiongeometry", (event) => enclose(layer, event));
    for (const kind of ["pointerdown", "pointerup"])
      addEventListener(kind, (e) => { page.shift = e.shiftKey; }, true);
    dress();
    octavoTheme.night.addEventListener("change", dress);
    let size = "";
    page.view.repainted.connect(() => {
      const {width, height} = page.view.frame.bbox;
      if (`${width} ${height}` === size || dead()) return;
      size = `${width} ${height}`;
      page.window.fit();
    });
    models.steered.on_event("reset", () => { size = ""; page.view.schedule_paint(); });
    page.window.fit();
    document.body.classList.add("ready");
    show(null);
    warmUp();
    metered = false;
    pump();
    octavoGuide.start(page);
  }

  bindControls();
  show(null);
  return Object.assign(page, {start, lost, found, send, layOut, idle: () => !flying && !queue.length && metered});
})();
