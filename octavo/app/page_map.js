// The pointer on a plot: which point is under it, what a drag or a click of it means.
"use strict";

window.octavoMap = (() => {
  const REACH = 9; // pixels within which a point is meant
  const FINGER = 20; // and by a finger
  const EDGE = 8; // pixels from the frame that a pin keeps
  const STILL = 4; // pixels that a click may wander

  class PlotPointer {
    // `on` has: hover(index, event), pick(index), drag(index, x, y, id, last)
    // and pins(), a list of {index, x, y}: to grab a pin is to grab its point
    constructor(view, source, box, on, draggable) {
      Object.assign(this, {view, source, box, on, draggable, pressed: null});
      this.drags = 0;
      box.addEventListener("pointerdown", (e) => this.down(e), true);
      box.addEventListener("pointermove", (e) => this.move(e), true);
      box.addEventListener("pointerup", (e) => this.up(e), true);
      box.addEventListener("pointercancel", () => this.cancel(), true);
      // Else text is selected on the way, and the next drag drags that text.
      box.addEventListener("mousedown", (e) => { if (this.pressed) e.preventDefault(); }, true);
      box.addEventListener("dragstart", (e) => e.preventDefault(), true);
      box.addEventListener("pointerleave", () => this.on.hover(-1));
    }

    // A tool of the toolbar that drags (pan, zoom, lasso) goes first.
    get toolActive() {
      return this.view.model.toolbar.gestures.pan.active != null;
    }

    where(event) {
      const {left, top} = this.view.canvas_view.el.getBoundingClientRect();
      const sx = event.clientX - left, sy = event.clientY - top;
      const {x_scale, y_scale, bbox} = this.view.frame;
      const inside = sx >= bbox.left && sx <= bbox.right && sy >= bbox.top && sy <= bbox.bottom;
      const reach = event.pointerType === "touch" ? FINGER : REACH;
      return {sx, sy, x: x_scale.invert(sx), y: y_scale.invert(sy), inside, reach};
    }

    // Where a pin goes: it stays in the plot, however far the mouse leaves it.
    place({sx, sy}) {
      const {x_scale, y_scale, bbox} = this.view.frame;
      const within = (v, low, high) => Math.min(Math.max(v, low + EDGE), high - EDGE);
      return [x_scale.invert(within(sx, bbox.left, bbox.right)), y_scale.invert(within(sy, bbox.top, bbox.bottom))];
    }

    hit({sx, sy, inside, reach}) {
      if (!inside) return -1;
      const {x_scale, y_scale} = this.view.frame;
      const {x, y} = this.source.data;
      let best = -1, least = reach * reach;
      for (let i = 0; i < x.length; i++) {
        const dx = x_scale.compute(x[i]) - sx;
        if (dx > reach || dx < -reach) continue;
        const dy = y_scale.compute(y[i]) - sy;
        const apart = dx * dx + dy * dy;
        if (apart < least) { least = apart; best = i; }
      }
      for (const pin of this.draggable ? this.on.pins() : []) {
        const apart = Math.hypot(x_scale.compute(pin.x) - sx, y_scale.compute(pin.y) - sy) ** 2;
        if (apart < least) { least = apart; best = pin.index; }
      }
      return best;
    }

    down(event) {
      if (event.button !== 0 || this.toolActive) return;
      const at = this.where(event);
      if (!at.inside) return;
      this.pressed = {index: this.hit(at), from: at, dragging: false};
      if (this.pressed.index >= 0) {
        event.stopPropagation(); // Bokeh takes a long press for something else
        this.box.setPointerCapture(event.pointerId);
      }
    }

    move(event) {
      const at = this.where(event);
      const pressed = this.pressed;
      if (!pressed) {
        const index = this.toolActive ? -1 : this.hit(at);
        this.box.style.cursor = index >= 0 ? (this.draggable ? "grab" : "pointer") : "";
        this.on.hover(index, event);
        return;
      }
      if (pressed.index < 0) return;
      event.stopPropagation();
      const far = Math.hypot(at.sx - pressed.from.sx, at.sy - pressed.from.sy) > STILL;
      if (far && !pressed.dragging && this.draggable) {
        pressed.dragging = true;
        this.drags += 1;
        this.box.style.cursor = "grabbing";
        this.on.hover(-1);
      }
      if (pressed.dragging) this.on.drag(pressed.index, ...this.place(at), this.drags);
    }

    up(event) {
      const pressed = this.pressed;
      this.pressed = null;
      if (!pressed) return;
      const at = this.where(event);
      if (pressed.dragging) {
        this.on.drag(pressed.index, ...this.place(at), this.drags, true);
        this.box.style.cursor = "";
        return;
      }
      const far = Math.hypot(at.sx - pressed.from.sx, at.sy - pressed.from.sy) > STILL;
      if (!far) this.on.pick(pressed.index);
    }

    cancel() {
      this.pressed = null;
      this.box.style.cursor = "";
    }
  }

  // What of the map is in view; `sources` returns what has to be. A range that the user has chosen is left alone.
  class Window {
    constructor(view, sources) {
      Object.assign(this, {view, sources, ours: ""});
    }

    get ranges() {
      return [this.view.model.x_range, this.view.model.y_range];
    }

    get now() {
      return String(this.ranges.flatMap(({start, end}) => [start, end]));
    }

    bounds() {
      const low = [Infinity, Infinity], high = [-Infinity, -Infinity];
      for (const data of this.sources()) {
        for (const [k, values] of [[0, data.x], [1, data.y]]) {
          for (const v of values) {
            if (v < low[k]) low[k] = v;
            if (v > high[k]) high[k] = v;
          }
        }
      }
      return [low, high];
    }

    // One unit is as long along x as along y, and every point has room.
    fit() {
      const {width, height} = this.view.frame.bbox;
      if (!(width > 0 && height > 0)) return;
      const [low, high] = this.bounds();
      const unit = 1.25 * Math.max((high[0] - low[0]) / width, (high[1] - low[1]) / height) || 1;
      this.ranges.forEach((range, k) => {
        const centre = (low[k] + high[k]) / 2, half = unit * (k ? height : width) / 2;
        range.setv({start: centre - half, end: centre + half});
      });
      this.ours = this.now;
    }

    // Makes room for points that have left.
    follow() {
      if (this.now !== this.ours) return;
      const [low, high] = this.bounds();
      if (this.ranges.some(({start, end}, k) => low[k] < start || high[k] > end)) this.fit();
    }
  }

  // Does a task of its own, after all promises and, asked for in a frame, after that frame.
  function soon(task) {
    const channel = new MessageChannel();
    channel.port1.onmessage = task;
    channel.port2.postMessage(null);
  }

  // Calls back once what was drawn is on the screen.
  function seen(done) {
    let called = false;
    const once = () => {
      if (called) return;
      called = true;
      clearTimeout(late);
      done();
    };
    const late = setTimeout(once, 1000); // a hidden tab has no frames
    requestAnimationFrame(() => soon(once));
  }

  return {PlotPointer, Window, seen};
})();
