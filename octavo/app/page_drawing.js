// What a map is made of: a disc a row, and pins, threads, links and names over them.
"use strict";

window.octavoDrawing = (() => {
  const FINE = 4; // places within a pixel that a disc can have, along x and along y
  const OPACITY = 0.82;
  const stamps = new Map(); // by radius: the pixels that a disc covers, and how much of each in 256ths
  let image = null;

  function stampsOf(radius) {
    if (stamps.has(radius)) return stamps.get(radius);
    const reach = Math.ceil(radius + 0.5), found = [];
    for (let place = 0; place < FINE * FINE; place++) {
      const cx = ((place % FINE) + 0.5) / FINE, cy = (Math.floor(place / FINE) + 0.5) / FINE;
      const [dx, dy, cover] = [[], [], []];
      for (let v = -reach; v <= reach; v++) {
        for (let u = -reach; u <= reach; u++) {
          const share = Math.min(1, radius + 0.5 - Math.hypot(u + 0.5 - cx, v + 0.5 - cy));
          if (share <= 0) continue;
          dx.push(u);
          dy.push(v);
          cover.push(Math.round(256 * OPACITY * share));
        }
      }
      found.push({dx: Int32Array.from(dx), dy: Int32Array.from(dy), cover: Int32Array.from(cover), at: new Int32Array(dx.length)});
    }
    stamps.set(radius, {reach, found});
    return stamps.get(radius);
  }

  // Discs at (x, y), in pixels of the canvas, inside `frame`; colours are 0xRRGGBBAA. They replace
  // what is there. Written pixel by pixel, two channels at a time: paths take browsers far longer.
  function discs(pen, {left, top, width, height}, x, y, colours, radius) {
    if (!(width > 0 && height > 0)) return;
    if (!image || image.width !== width || image.height !== height) image = pen.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer), {reach, found} = stampsOf(radius);
    pixels.fill(0);
    for (const {dx, dy, at} of found) for (let k = 0; k < at.length; k++) at[k] = dy[k] * width + dx[k];
    for (let i = 0; i < x.length; i++) {
      const px = x[i] - left, py = y[i] - top;
      if (!(px >= 0 && px < width && py >= 0 && py < height)) continue;
      const column = Math.floor(px), line = Math.floor(py), origin = line * width + column;
      const {dx, dy, cover, at} = found[FINE * Math.floor(FINE * (py - line)) + Math.floor(FINE * (px - column))];
      const colour = colours[i];
      const rb = (colour >>> 24) | (((colour >>> 8) & 255) << 16), ga = ((colour >>> 16) & 255) | 0xff0000;
      const whole = column >= reach && line >= reach && column + reach < width && line + reach < height;
      for (let k = 0; k < at.length; k++) {
        if (!whole && (column + dx[k] < 0 || column + dx[k] >= width || line + dy[k] < 0 || line + dy[k] >= height)) continue;
        const over = cover[k], under = 256 - over, old = pixels[origin + at[k]];
        const low = (Math.imul(rb, over) + Math.imul(old & 0xff00ff, under) + 0x800080) >>> 8;
        const high = Math.imul(ga, over) + Math.imul((old >>> 8) & 0xff00ff, under) + 0x800080;
        pixels[origin + at[k]] = (low & 0xff00ff) | (high & 0xff00ff00);
      }
    }
    for (let k = 0; k < pixels.length; k++) { // an image has its colours without their opacity
      const v = pixels[k];
      if (!v) continue;
      const full = 255 / (v >>> 24);
      const r = (v & 255) * full, g = ((v >>> 8) & 255) * full, b = ((v >>> 16) & 255) * full;
      pixels[k] = (v & 0xff000000) | (Math.min(255, b) << 16) | (Math.min(255, g) << 8) | Math.min(255, r);
    }
    pen.putImageData(image, left, top);
  }

  // px and py lead from the map to the pen's pixels; `look` has the colours.
  function constraints(pen, {pins, threads, together, apart, labels}, px, py, look) {
    for (const [part, colour, width, dash] of [
      [threads, look.ink, 1.2, []], [together, look.together, 2.5, []], [apart, look.apart, 2.5, [6, 4]]]) {
      Object.assign(pen, {strokeStyle: colour, lineWidth: width});
      pen.setLineDash(dash);
      part.x0.forEach((x, k) => {
        pen.beginPath();
        pen.moveTo(px(x), py(part.y0[k]));
        pen.lineTo(px(part.x1[k]), py(part.y1[k]));
        pen.stroke();
      });
    }
    pen.setLineDash([]);
    Object.assign(pen, {strokeStyle: look.ink, lineWidth: 2});
    pins.x.forEach((x, k) => {
      pen.beginPath();
      if (pins.marker[k] === "square") pen.rect(px(x) - 6, py(pins.y[k]) - 6, 12, 12);
      else pen.arc(px(x), py(pins.y[k]), 6.5, 0, 7);
      pen.stroke();
    });
    pen.font = "bold 12px system-ui, sans-serif";
    labels.x.forEach((x, k) => {
      const left = px(x) + 8, line = py(labels.y[k]) - 6, text = labels.text[k];
      pen.globalAlpha = 0.85;
      pen.fillStyle = look.ground;
      pen.fillRect(left - 2, line - 12, pen.measureText(text).width + 4, 16);
      pen.globalAlpha = 1;
      pen.fillStyle = look.ink;
      pen.fillText(text, left, line);
    });
  }

  return {discs, constraints};
})();
