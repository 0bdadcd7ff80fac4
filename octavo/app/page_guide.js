// The guided start: three steps in half a minute, where the plain map will be once it differs.
"use strict";

window.octavoGuide = (() => {
  const {$, make} = window.octavoTip;
  const about = window.octavoAbout, own = about.guide; // rows to show it on, of the digits
  let step = 0, page = null, plot = null, counts = null;

  const steps = [
    {
      title: "Drag a point to where it belongs",
      text: own
        ? "The ringed five has strayed. Drag it into the dashed circle, among the other fives. All points follow: the whole map is solved anew while you drag."
        : "Drag any point. It becomes a pin, and all points follow: the whole map is solved anew while you drag.",
      rows: own ? [own.drag.row] : [],
      target: own ? own.drag.to : null,
      done: (c) => c.placements.length > counts.placements,
    },
    {
      title: "Say that two points belong apart",
      text: own
        ? "Click the two ringed points, an eight and a one, and press Separate."
        : "Click two points and press Separate; Link says the opposite.",
      rows: own ? own.apart : [],
      done: (c) => c.links.length > counts.links,
    },
    {
      title: "See what it cost, and take it back",
      text: "",
      rows: [],
      done: () => false,
    },
  ];

  const count = (c) => ({placements: c.placements.length, links: c.links.length});

  function verdict() {
    const read = octavoMeter.read();
    const undo = "Undo (Ctrl+Z) takes the last action back. When the map says what you mean, Page saves it as one file that a colleague can open.";
    if (!read) return undo;
    const {kept, separation} = read;
    const part = separation.now === null ? kept : separation;
    const name = separation.now === null ? "neighbours kept" : "10-NN accuracy";
    const change = part.now - part.before;
    const said = Math.abs(change) < 0.0005 ? `The meter has not moved (${name}).`
      : `The meter: ${name} ${octavoMeter.signed(change)} by that action, ${octavoMeter.signed(part.now - part.plain)} against plain kernel PCA.`;
    return `${said} ${change < -0.05 ? "It looks tidy, and it cost much. " : ""}${undo}`;
  }

  function open() {
    step = 0;
    counts = count(page.state.constraints);
    $("guide").hidden = false;
    write();
    page.layOut();
  }

  function close() {
    $("guide").hidden = true;
    for (const el of document.querySelectorAll(".beacon")) el.remove();
    page.layOut();
  }

  function go(to) {
    if (to >= steps.length) { close(); return; }
    step = to;
    counts = count(page.state.constraints);
    write();
  }

  function write() {
    const {title, text, rows, target} = steps[step], lastStep = step === steps.length - 1;
    $("guide-step").textContent = `Step ${step + 1} of ${steps.length}`;
    $("guide-title").textContent = title;
    $("guide-text").textContent = lastStep ? verdict() : text;
    $("guide-next").textContent = lastStep ? "Done" : "Next";
    $("guide-next").classList.toggle("main", lastStep);
    for (const el of document.querySelectorAll(".beacon")) el.remove();
    for (const row of rows) plot.append(Object.assign(make("div", "", "beacon"), {row}));
    if (target) plot.append(Object.assign(make("div", "", "beacon target"), {place: target}));
    lay();
  }

  // Rings stay on their points.
  function lay() {
    if ($("guide").hidden || !page.view) return;
    const outer = plot.getBoundingClientRect();
    const {left, top} = page.view.canvas_view.el.getBoundingClientRect();
    const {x_scale, y_scale, bbox} = page.view.frame, {x, y} = page.models.points.data;
    for (const el of plot.querySelectorAll(".beacon")) {
      const [px, py] = el.place || [x[el.row], y[el.row]];
      const sx = x_scale.compute(px), sy = y_scale.compute(py);
      el.hidden = sx < bbox.left || sx > bbox.right || sy < bbox.top || sy > bbox.bottom;
      el.style.transform = `translate(${left - outer.left + sx}px, ${top - outer.top + sy}px)`;
    }
  }

  // After every action: a step that is done leads to the next.
  function look() {
    if ($("guide").hidden) return;
    if (steps[step].done(page.state.constraints)) go(step + 1);
    else if (step === steps.length - 1) $("guide-text").textContent = verdict();
  }

  function start(found) {
    page = found;
    plot = $("steered-plot");
    page.view.repainted.connect(lay);
    $("guide-next").onclick = () => go(step + 1);
    $("guide-skip").onclick = close;
    $("guide-again").onclick = () => ($("guide").hidden ? open() : close());
    if (own) open();
    else page.layOut();
  }

  return {start, look, lay, open, close, step: () => ($("guide").hidden ? null : step)};
})();
