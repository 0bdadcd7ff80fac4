// Light or dark, as the system is set: the page by its style sheet, the plots and the points here.
"use strict";

window.octavoTheme = (() => {
  const night = matchMedia("(prefers-color-scheme: dark)");
  const LOOKS = {
    light: {ground: "#ffffff", grid: "#eef0f3", line: "#c9ced6", soft: "#6b7280", ink: "#1a1a1a", together: "#0072b2", apart: "#d55e00"},
    dark: {ground: "#1c2027", grid: "#2a303a", line: "#4a5361", soft: "#a3acba", ink: "#f2f4f7", together: "#5db3ea", apart: "#f28e4b"},
  };
  const LIGHTER = 0.3; // of the way to white: dark colours are hard to see on a dark ground

  const look = () => LOOKS[night.matches ? "dark" : "light"];
  const tint = (v) => (night.matches ? Math.round(v + LIGHTER * (255 - v)) : v);
  const shade = (hex) => `rgb(${[1, 3, 5].map((k) => tint(parseInt(hex.slice(k, k + 2), 16))).join()})`;

  // Colours as Bokeh has them, 0xRRGGBBAA a row.
  function tinted(packed) {
    if (!night.matches) return packed;
    return packed.map((v) => (
      ((tint(v >>> 24) << 24) | (tint((v >>> 16) & 255) << 16) | (tint((v >>> 8) & 255) << 8) | (v & 255)) >>> 0));
  }

  function dress(plot) {
    const {ground, grid, line, soft} = look();
    plot.setv({background_fill_color: ground, border_fill_color: ground});
    for (const part of [...plot.center, ...plot.left, ...plot.below]) {
      if (part.type === "Grid") part.grid_line_color = grid;
      else part.setv({axis_line_color: line, major_tick_line_color: line, major_label_text_color: soft});
    }
  }

  return {night, tint, shade, tinted, dress, look};
})();
