// Pictures of the rows on the map: one a cell of a grid, so that none hides another.
"use strict";

window.octavoThumbnails = (() => {
  const CELL = 26; // pixels that a picture takes
  const one = document.createElement("canvas");
  let sheet = null; // {height, width, pixels}: all rows, one after the other
  let on = false;

  function keep({height, width, base64}) {
    sheet = {height, width, pixels: Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))};
  }

  function paintRow(i, rgba) {
    const {height, width, pixels} = sheet, size = height * width;
    [one.width, one.height] = [width, height];
    const pen = one.getContext("2d"), image = pen.createImageData(width, height);
    const rgb = [rgba >>> 24, (rgba >>> 16) & 255, (rgba >>> 8) & 255];
    for (let k = 0; k < size; k++) image.data.set([...rgb, pixels[i * size + k]], 4 * k);
    pen.putImageData(image, 0, 0);
    return one;
  }

  // Returns how many there was room for.
  function draw(pen, {px, py, dx, dy, bbox}, {x, y, colour}) {
    if (!on || !sheet) return 0;
    const taken = new Set(), paper = octavoTheme.look().ground;
    pen.imageSmoothingEnabled = false;
    for (let i = 0; i < x.length; i++) {
      const sx = px(x[i]) - dx, sy = py(y[i]) - dy;
      if (sx < bbox.left || sx > bbox.right - CELL || sy < bbox.top || sy > bbox.bottom - CELL) continue;
      const column = Math.floor(sx / CELL), line = Math.floor(sy / CELL), cell = column * 10000 + line;
      if (taken.has(cell)) continue;
      taken.add(cell);
      pen.fillStyle = paper;
      pen.fillRect(dx + column * CELL, dy + line * CELL, CELL, CELL);
      pen.drawImage(paintRow(i, colour[i]), dx + column * CELL + 1, dy + line * CELL + 1, CELL - 3, CELL - 3);
    }
    return taken.size;
  }

  return {keep, draw, turn: (value) => { on = value; }, has: () => sheet !== null};
})();
