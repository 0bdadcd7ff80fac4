// Pictures of the rows on the map: one a cell of a grid, so that none hides another.
"use strict";

window.octavoThumbnails = (() => {
  const CELL = 26; // pixels that a picture takes
  let sheet = null; // {height, width, pixels}: all rows, one after the other
  const layers = [];

  function keep({height, width, base64}) {
    sheet = {height, width, pixels: Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))};
  }

  function paintRow(i, rgba, canvas) {
    const {height, width, pixels} = sheet, size = height * width;
    [canvas.width, canvas.height] = [width, height];
    const pen = canvas.getContext("2d"), image = pen.createImageData(width, height);
    const rgb = [rgba >>> 24, (rgba >>> 16) & 255, (rgba >>> 8) & 255];
    for (let k = 0; k < size; k++) image.data.set([...rgb, pixels[i * size + k]], 4 * k);
    pen.putImageData(image, 0, 0);
    return canvas;
  }

  class Layer {
    // `drawn` are the sources of what lies over the points, and must lie over the pictures too.
    constructor(view, source, box, drawn = null) {
      Object.assign(this, {view, source, drawn, on: false, one: document.createElement("canvas")});
      this.canvas = document.createElement("canvas");
      this.canvas.className = "thumbnails";
      box.append(this.canvas);
      view.repainted.connect(() => this.draw());
      layers.push(this);
    }

    draw() {
      this.canvas.hidden = !(this.on && sheet);
      if (this.canvas.hidden) return;
      const ratio = devicePixelRatio || 1, {frame} = this.view;
      const outer = this.canvas.parentElement.getBoundingClientRect();
      const inner = this.view.canvas_view.el.getBoundingClientRect();
      const [dx, dy] = [inner.left - outer.left, inner.top - outer.top];
      const [w, h] = [outer.width, outer.height];
      [this.canvas.width, this.canvas.height] = [Math.round(w * ratio), Math.round(h * ratio)];
      const pen = this.canvas.getContext("2d");
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.imageSmoothingEnabled = false;
      const {x, y, colour} = this.source.data, {x_scale, y_scale, bbox} = frame;
      const taken = new Set(), paper = octavoTheme.look().ground;
      let shown = 0;
      for (let i = 0; i < x.length; i++) {
        const sx = x_scale.compute(x[i]), sy = y_scale.compute(y[i]);
        if (sx < bbox.left || sx > bbox.right - CELL || sy < bbox.top || sy > bbox.bottom - CELL) continue;
        const column = Math.floor(sx / CELL), line = Math.floor(sy / CELL), cell = column * 10000 + line;
        if (taken.has(cell)) continue;
        taken.add(cell);
        pen.fillStyle = paper;
        pen.fillRect(dx + column * CELL, dy + line * CELL, CELL, CELL);
        pen.drawImage(paintRow(i, colour[i], this.one), dx + column * CELL + 1, dy + line * CELL + 1, CELL - 3, CELL - 3);
        shown += 1;
      }
      this.shown = shown;
      if (this.drawn) this.drawOver(pen, (x) => dx + x_scale.compute(x), (y) => dy + y_scale.compute(y));
    }

    drawOver(pen, px, py) {
      const {threads, together, apart, pins} = this.drawn, {ink, together: blue, apart: orange} = octavoTheme.look();
      for (const [{data}, colour, width, dash] of [
        [threads, ink, 1.2, []], [together, blue, 2.5, []], [apart, orange, 2.5, [6, 4]]]) {
        Object.assign(pen, {strokeStyle: colour, lineWidth: width});
        pen.setLineDash(dash);
        for (let k = 0; k < data.x0.length; k++) {
          pen.beginPath();
          pen.moveTo(px(data.x0[k]), py(data.y0[k]));
          pen.lineTo(px(data.x1[k]), py(data.y1[k]));
          pen.stroke();
        }
      }
      pen.setLineDash([]);
      Object.assign(pen, {strokeStyle: ink, lineWidth: 2});
      const {x, y, marker} = pins.data;
      for (let k = 0; k < x.length; k++) {
        pen.beginPath();
        if (marker[k] === "square") pen.rect(px(x[k]) - 6, py(y[k]) - 6, 12, 12);
        else pen.arc(px(x[k]), py(y[k]), 6.5, 0, 7);
        pen.stroke();
      }
    }
  }

  function turn(on) {
    for (const layer of layers) {
      layer.on = on;
      layer.draw();
    }
  }

  return {Layer, keep, turn, layers, has: () => sheet !== null};
})();
