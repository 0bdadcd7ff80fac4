// The points of a plot and what lies over them. Bokeh draws the axes and has the tools: it would
// draw all of the plot anew for every step of a drag.
"use strict";

window.octavoLayers = (() => {
  const MANY = 5000; // rows above which discs are small

  class Layer {
    // `drawing` returns what is drawn over the points, or null.
    constructor(view, source, box, drawing) {
      Object.assign(this, {view, source, box, drawing, pictures: 0});
      this.canvas = document.createElement("canvas");
      this.canvas.className = "layer";
      box.append(this.canvas);
      view.repainted.connect(() => { this.measure(); this.draw(); });
      this.measure();
    }

    // Where the frame of the plot lies on the canvas, and how values become pixels of it.
    measure() {
      const outer = this.box.getBoundingClientRect(), inner = this.view.canvas_view.el.getBoundingClientRect();
      const ratio = devicePixelRatio || 1, {bbox, x_scale, y_scale} = this.view.frame;
      const [dx, dy] = [inner.left - outer.left, inner.top - outer.top];
      const size = [Math.round(outer.width * ratio), Math.round(outer.height * ratio)];
      if (this.canvas.width !== size[0]) [this.canvas.width] = size;
      if (this.canvas.height !== size[1]) [, this.canvas.height] = size;
      const left = Math.round((bbox.left + dx) * ratio), top = Math.round((bbox.top + dy) * ratio);
      const frame = {left, top, width: Math.round(bbox.width * ratio), height: Math.round(bbox.height * ratio)};
      const line = (scale, low, high, shift) => { // a value v lies at begin + slope * v
        const [from, to] = [scale.invert(low), scale.invert(high)], slope = (high - low) / (to - from);
        return {slope, begin: low - slope * from + shift};
      };
      const x = line(x_scale, bbox.left, bbox.right, dx), y = line(y_scale, bbox.top, bbox.bottom, dy);
      this.where = {ratio, frame, dx, dy, bbox, px: (v) => x.begin + x.slope * v, py: (v) => y.begin + y.slope * v};
    }

    draw() {
      const {ratio, frame, px, py} = this.where, {x, y, colour} = this.source.data, n = x.length;
      const pen = this.canvas.getContext("2d", {willReadFrequently: true}), look = octavoTheme.look(), radius = n > MANY ? 1.75 : 3.5;
      pen.setTransform(1, 0, 0, 1, 0, 0);
      pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
      const sx = new Float32Array(n), sy = new Float32Array(n);
      for (let i = 0; i < n; i++) {
        sx[i] = ratio * px(x[i]);
        sy[i] = ratio * py(y[i]);
      }
      octavoDrawing.discs(pen, frame, sx, sy, colour, ratio * radius);
      pen.save();
      pen.beginPath();
      pen.rect(frame.left, frame.top, frame.width, frame.height);
      pen.clip();
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      for (const i of this.source.selected.indices) {
        Object.assign(pen, {fillStyle: `#${(colour[i] >>> 8).toString(16).padStart(6, "0")}`, strokeStyle: look.ink, lineWidth: 2});
        pen.beginPath();
        pen.arc(px(x[i]), py(y[i]), radius + 3, 0, 7);
        pen.fill();
        pen.stroke();
      }
      this.pictures = octavoThumbnails.draw(pen, this.where, this.source.data);
      const drawing = this.drawing();
      if (drawing) octavoDrawing.constraints(pen, drawing, px, py, look);
      pen.restore();
    }

    // The rows inside a polygon of the map.
    inside(px, py) {
      const {x, y} = this.source.data, rows = [];
      for (let i = 0; i < x.length; i++) {
        let within = false;
        for (let k = 0, j = px.length - 1; k < px.length; j = k++)
          if (py[k] > y[i] !== py[j] > y[i] && x[i] < px[k] + (px[j] - px[k]) * (y[i] - py[k]) / (py[j] - py[k])) within = !within;
        if (within) rows.push(i);
      }
      return rows;
    }
  }

  return {Layer};
})();
