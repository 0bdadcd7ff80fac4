// The row under the mouse, and how elements are found and made.
"use strict";

window.octavoTip = (() => {
  const $ = (id) => document.getElementById(id);

  function make(tag, text, className) {
    const el = document.createElement(tag);
    if (text !== undefined) el.textContent = text;
    if (className) el.className = className;
    return el;
  }

  function draw(canvas, pixels) {
    [canvas.width, canvas.height] = [pixels[0].length, pixels.length];
    const ctx = canvas.getContext("2d"), image = ctx.createImageData(canvas.width, canvas.height);
    pixels.flat().forEach((v, k) => {
      const grey = 255 - 255 * v;
      image.data.set([grey, grey, grey, 255], 4 * k);
    });
    ctx.putImageData(image, 0, 0);
  }

  function show({index, cells, more, pixels}, mouse) {
    const list = make("dl");
    list.append(make("dt", "row"), make("dd", String(index)));
    for (const [name, text] of cells) list.append(make("dt", name), make("dd", text));
    if (more) list.append(make("dt", ""), make("dd", `and ${more} more`));
    const [canvas, text] = $("tip").children;
    text.replaceChildren(list);
    canvas.hidden = !pixels;
    if (pixels) draw(canvas, pixels);
    $("tip").hidden = false;
    follow(mouse);
  }

  function follow(mouse) {
    if ($("tip").hidden) return;
    const {offsetWidth: w, offsetHeight: h} = $("tip");
    const x = mouse.clientX + 16 + w > innerWidth ? mouse.clientX - 16 - w : mouse.clientX + 16;
    $("tip").style.left = `${x}px`;
    $("tip").style.top = `${Math.max(8, Math.min(mouse.clientY + 14, innerHeight - h - 8))}px`;
  }

  function hide() {
    $("tip").hidden = true;
  }

  return {$, make, show, follow, hide};
})();
