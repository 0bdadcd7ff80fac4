// A map that was exported: looked at, not steered. Drag to move it, wheel or two fingers to zoom.
"use strict";

window.octavoExport = (() => {
  const $ = (id) => document.getElementById(id);
  const held = JSON.parse($("held").textContent);
  const REACH = 10; // pixels within which a point is meant
  const CELL = 26; // pixels that a picture takes
  const GLIDE = 500; // milliseconds from one map to the other
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const floats = (text) => new Float32Array(bytes(text).buffer);
  const maps = {steered: floats(held.steered), plain: floats(held.plain)};
  const colour = bytes(held.colour), n = held.rows;
  const places = {x: new Float32Array(n), y: new Float32Array(n), colour: new Uint32Array(n)};
  const sprites = held.thumbnails && bytes(held.thumbnails.base64);
  const canvas = $("map"), ctx = canvas.getContext("2d");
  const night = matchMedia("(prefers-color-scheme: dark)");
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const page = {rows: n, which: "steered", share: 1, drawn: 0};
  let view = null, ours = true, gliding = 0, fingers = new Map(), pinch = 0;

  function make(tag, text, className) {
    const el = document.createElement(tag);
    if (text !== undefined) el.textContent = text;
    if (className) el.className = className;
    return el;
  }

  // Dark colours are hard to see on a dark ground.
  const tint = (v) => (night.matches ? Math.round(v + 0.3 * (255 - v)) : v);
  const shade = (hex) => `rgb(${[1, 3, 5].map((k) => tint(parseInt(hex.slice(k, k + 2), 16))).join()})`;
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const look = () => ({ink: css("--ink"), ground: css("--paper"),
    ...(night.matches ? {together: "#5db3ea", apart: "#f28e4b"} : {together: "#0072b2", apart: "#d55e00"})});

  const at = (i, k) => page.share * maps.steered[2 * i + k] + (1 - page.share) * maps.plain[2 * i + k];

  function fit() {
    const low = [Infinity, Infinity], high = [-Infinity, -Infinity];
    const see = (v, k) => { low[k] = Math.min(low[k], v); high[k] = Math.max(high[k], v); };
    for (const map of Object.values(maps)) for (let i = 0; i < map.length; i++) see(map[i], i % 2);
    held.drawing.pins.x.forEach((v) => see(v, 0));
    held.drawing.pins.y.forEach((v) => see(v, 1));
    const {clientWidth: w, clientHeight: h} = canvas;
    const unit = 1.15 * Math.max((high[0] - low[0]) / w, (high[1] - low[1]) / h) || 1;
    ours = true; // until somebody moves or zooms
    view = {x: (low[0] + high[0]) / 2, y: (low[1] + high[1]) / 2, unit};
    draw();
  }

  const px = (x) => canvas.clientWidth / 2 + (x - view.x) / view.unit;
  const py = (y) => canvas.clientHeight / 2 - (y - view.y) / view.unit;

  function draw() {
    const ratio = devicePixelRatio || 1, {clientWidth: w, clientHeight: h} = canvas;
    if (!view || !w || !h) return;
    [canvas.width, canvas.height] = [Math.round(w * ratio), Math.round(h * ratio)];
    for (let i = 0; i < n; i++) {
      places.x[i] = ratio * px(at(i, 0));
      places.y[i] = ratio * py(at(i, 1));
      const [r, g, b] = [0, 1, 2].map((k) => tint(colour[4 * i + k]));
      places.colour[i] = ((r << 24) | (g << 16) | (b << 8) | 255) >>> 0;
    }
    const frame = {left: 0, top: 0, width: canvas.width, height: canvas.height};
    octavoDrawing.discs(ctx, frame, places.x, places.y, places.colour, ratio * (n > 5000 ? 1.75 : 3.5));
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    if ($("pictures").checked && sprites) drawPictures(w, h);
    if (page.share === 1) octavoDrawing.constraints(ctx, held.drawing, px, py, look());
    page.drawn += 1;
  }

  function sprite(i, target) {
    const {height, width} = held.thumbnails, size = height * width;
    [target.width, target.height] = [width, height];
    const pen = target.getContext("2d"), image = pen.createImageData(width, height);
    for (let k = 0; k < size; k++)
      image.data.set([tint(colour[4 * i]), tint(colour[4 * i + 1]), tint(colour[4 * i + 2]), sprites[i * size + k]], 4 * k);
    pen.putImageData(image, 0, 0);
    return target;
  }

  function drawPictures(w, h) {
    const taken = new Set(), one = document.createElement("canvas");
    ctx.imageSmoothingEnabled = false;
    for (let i = 0; i < n; i++) {
      const x = px(at(i, 0)), y = py(at(i, 1));
      if (x < 0 || y < 0 || x > w || y > h) continue;
      const cell = `${Math.floor(x / CELL)} ${Math.floor(y / CELL)}`;
      if (taken.has(cell)) continue;
      taken.add(cell);
      const left = Math.floor(x / CELL) * CELL, top = Math.floor(y / CELL) * CELL;
      ctx.fillStyle = css("--paper");
      ctx.fillRect(left, top, CELL, CELL);
      ctx.drawImage(sprite(i, one), left + 1, top + 1, CELL - 3, CELL - 3);
    }
  }

  function glide(which) {
    page.which = which;
    $("show-steered").setAttribute("aria-pressed", which === "steered");
    $("show-plain").setAttribute("aria-pressed", which === "plain");
    cancelAnimationFrame(gliding);
    const from = page.share, to = which === "steered" ? 1 : 0, begin = performance.now();
    const step = () => {
      const t = still.matches ? 1 : Math.min(1, (performance.now() - begin) / GLIDE);
      page.share = t < 1 ? from + (to - from) * t * t * (3 - 2 * t) : to;
      draw();
      if (t < 1) gliding = requestAnimationFrame(step);
    };
    step();
  }

  // --- the mouse, or fingers -----------------------------------------------------------------------

  function hit(event) {
    const {left, top} = canvas.getBoundingClientRect();
    const x = event.clientX - left, y = event.clientY - top;
    let best = -1, least = (event.pointerType === "touch" ? 2 : 1) * REACH;
    for (let i = 0; i < n; i++) {
      const apart = Math.hypot(px(at(i, 0)) - x, py(at(i, 1)) - y);
      if (apart < least) { least = apart; best = i; }
    }
    return best;
  }

  function tell(event) {
    const i = hit(event), tip = $("tip");
    tip.hidden = i < 0;
    if (i < 0) return;
    const list = tip.querySelector("dl"), {names, texts} = held.cells;
    list.replaceChildren(make("dt", "row"), make("dd", String(i)),
      ...names.flatMap((name, k) => [make("dt", name), make("dd", texts[k][i])]));
    const picture = tip.querySelector("canvas");
    picture.hidden = !sprites;
    if (sprites) sprite(i, picture);
    const {offsetWidth: w, offsetHeight: h} = tip;
    const x = event.clientX + 16 + w > innerWidth ? event.clientX - 16 - w : event.clientX + 16;
    tip.style.left = `${Math.max(4, x)}px`;
    tip.style.top = `${Math.max(8, Math.min(event.clientY + 14, innerHeight - h - 8))}px`;
  }

  function zoom(factor, clientX, clientY) {
    const {left, top} = canvas.getBoundingClientRect();
    const x = clientX - left - canvas.clientWidth / 2, y = clientY - top - canvas.clientHeight / 2;
    view.x += x * view.unit * (1 - factor);
    view.y -= y * view.unit * (1 - factor);
    view.unit *= factor;
    ours = false;
    draw();
  }

  canvas.addEventListener("wheel", (e) => {
    e.preventDefault();
    zoom(Math.exp(0.0015 * e.deltaY), e.clientX, e.clientY);
  }, {passive: false});
  canvas.addEventListener("pointerdown", (e) => {
    canvas.setPointerCapture(e.pointerId);
    fingers.set(e.pointerId, [e.clientX, e.clientY]);
    pinch = 0;
    tell(e);
  });
  canvas.addEventListener("pointermove", (e) => {
    if (!fingers.has(e.pointerId)) { tell(e); return; }
    const [x, y] = fingers.get(e.pointerId);
    fingers.set(e.pointerId, [e.clientX, e.clientY]);
    if (fingers.size === 2) {
      const [[ax, ay], [bx, by]] = [...fingers.values()];
      const apart = Math.hypot(ax - bx, ay - by);
      if (pinch) zoom(pinch / apart, (ax + bx) / 2, (ay + by) / 2);
      pinch = apart;
    } else if (Math.hypot(e.clientX - x, e.clientY - y) > 0) {
      $("tip").hidden = true;
      view.x -= (e.clientX - x) * view.unit;
      view.y += (e.clientY - y) * view.unit;
      ours = false;
      draw();
    }
  });
  for (const kind of ["pointerup", "pointercancel"])
    canvas.addEventListener(kind, (e) => { fingers.delete(e.pointerId); pinch = 0; });
  canvas.addEventListener("pointerleave", () => { $("tip").hidden = true; });

  // --- the text beside -----------------------------------------------------------------------------

  function showKey() {
    const {entries, ramp} = held.key, parts = [];
    $("column").textContent = held.column;
    if (ramp.length) {
      const bar = make("div", "", "ramp"), ends = make("div", "", "ends");
      bar.style.background = `linear-gradient(to right, ${ramp.map(shade).join(",")})`;
      ends.append(...entries.map(([text]) => make("span", text)));
      parts.push(bar, ends);
    } else {
      for (const [text, hex] of entries) {
        const entry = make("span"), dot = make("i");
        dot.style.background = shade(hex);
        entry.append(dot, text);
        parts.push(entry);
      }
    }
    $("key").replaceChildren(...parts);
  }

  function showMeter() {
    const {kept, separation, column} = held.meter;
    const line = (cells, tag) => {
      const row = make("tr");
      row.append(make("th", cells[0]), ...cells.slice(1).map((text) => make(tag, text)));
      return row;
    };
    const head = make("thead"), body = make("tbody");
    head.append(line(["", "steered", "plain"], "th"));
    body.append(line(["10 neighbours kept", kept.now.toFixed(3), kept.plain.toFixed(3)], "td"));
    if (separation.now !== null)
      body.append(line([`10-NN accuracy, ${column}`, separation.now.toFixed(3), separation.plain.toFixed(3)], "td"));
    $("meter").replaceChildren(head, body);
  }

  function showConstraints() {
    const {placements, links, labels} = held.constraints;
    const where = (place) => place.map((v) => (v === null ? "free" : v.toFixed(2))).join(", ");
    const lines = [
      ...placements.map((p) => `${p.hard ? "exact pin" : "pin"}: row ${p.point} at ${where(p.at)}`),
      ...links.map((k) => `${k.sign > 0 ? "together" : "apart"}: rows ${k.points.join(" and ")}`),
      ...labels.map((e) => `label: row ${e.point}`),
    ];
    $("constraints").replaceChildren(...(lines.length ? lines : ["none: this is plain kernel PCA"]).map((text) => make("li", text)));
  }

  $("about").textContent = `${n.toLocaleString("en-GB")} rows · ${held.features} features`;
  $("code").textContent = held.code;
  $("pictures-switch").hidden = !sprites;
  $("pictures").onchange = draw;
  $("show-steered").onclick = () => glide("steered");
  $("show-plain").onclick = () => glide("plain");
  $("reset").onclick = fit;
  night.addEventListener("change", () => { showKey(); draw(); });
  new ResizeObserver(() => (ours ? fit() : draw())).observe(canvas);
  showKey();
  showMeter();
  showConstraints();
  fit();
  return Object.assign(page, {held, hit, pixel: (i) => {
    const {left, top} = canvas.getBoundingClientRect();
    return [left + px(at(i, 0)), top + py(at(i, 1))];
  }});
})();
