"""How well text stands out from what is behind it, as the browser drew it."""

from __future__ import annotations

LEAST_CONTRAST = 4.5

CONTRASTS = """() => {
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
  const rgba = (color) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data] };
  const over = (top, below) => { const a = top[3] / 255; return [0, 1, 2].map((i) => top[i] * a + below[i] * (1 - a)) };
  const backOf = (element) => { const layers = [];
    for (let one = element; one; one = one.parentElement) layers.push(rgba(getComputedStyle(one).backgroundColor));
    return layers.reduceRight((below, top) => over(top, below), [255, 255, 255]) };
  const light = (color) => { const [r, g, b] = color.map((c) => c / 255).map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b };
  const found = [];
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.checkVisibility({visibilityProperty: true}) || element.closest('svg, [disabled], .day, .skip')) continue;
    const back = backOf(element);
    const front = over(rgba(getComputedStyle(element).color), back);
    const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), element.textContent.slice(0, 40), element.className]);
  }
  return found.sort((x, y) => x[0] - y[0]).slice(0, 5) }"""
