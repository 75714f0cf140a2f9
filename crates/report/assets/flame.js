// The flame graph: a canvas that draws what is wide enough to be seen.

const FRAME = 22;
/** Frames narrower than this are drawn together. */
const THINNEST = 0.5;
const FONT = '11.5px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace';

/** What frames are coloured by. */
const COLOURINGS = {
  namespace: { label: 'Namespaces', of: (fn) => FUNCTIONS.namespace(fn) || 'no namespace' },
  type: { label: 'Types', of: (fn) => FUNCTIONS.type(fn) },
  assembly: { label: 'Assemblies', of: (fn) => FUNCTIONS.assembly(fn) || 'unknown' },
};

/** Colours by group: hues as far apart as they can be, the same each time. */
class Palette {
  /** @param {(fn: number) => string} of */
  constructor(of) {
    this.of = of;
    const groups = [...new Set(Array.from({ length: FUNCTIONS.count }, (_, fn) => of(fn)))].sort();
    this.hues = new Map(groups.map((group, index) => [group, (40 + index * 137.508) % 360]));
    /** @type {Map<number, string>} */ this.colours = new Map();
  }

  /** @param {boolean} isDark */
  theme(isDark) {
    this.isDark = isDark;
    this.colours.clear();
  }

  /** A frame's colour; methods differ a little. @param {number} fn */
  colour(fn) {
    let colour = this.colours.get(fn);
    if (!colour) {
      const shade = (hashOf(FUNCTIONS.member(fn)) % 7) - 3;
      const other = FUNCTIONS.isOther(fn);
      const chroma = other ? 0.012 : FUNCTIONS.waits(fn) ? 0.02 : 0.095;
      const light = this.isDark ? (other ? 36 : 46 + shade * 1.3) : other ? 90 : 84 + shade * 1.3;
      colour = `oklch(${light}% ${chroma} ${other ? 265 : this.hue(fn)})`;
      this.colours.set(fn, colour);
    }
    return colour;
  }

  /** @param {number} fn */
  hue(fn) {
    return this.hues.get(this.of(fn)) ?? 0;
  }

  /** @param {string} group */
  sample(group) {
    return `oklch(${this.isDark ? 58 : 76}% 0.12 ${this.hues.get(group) ?? 0})`;
  }
}

/** @param {string} text */
function hashOf(text) {
  let hash = 7;
  for (let index = 0; index < text.length; index++) hash = (hash * 31 + text.charCodeAt(index)) | 0;
  return hash >>> 0;
}

class FlameGraph {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    this.canvas = element('canvas', {
      tabindex: 0,
      role: 'application',
      'aria-roledescription': 'flame graph',
      'aria-label': 'Flame graph. Arrow keys move, Enter zooms, Escape goes back. The tree has the same as text.',
      'aria-describedby': 'detail',
    });
    this.space = element('div', { class: 'space' });
    this.scroller = element('div', { class: 'flame-scroll' }, this.canvas, this.space);
    this.legend = element('ul', { class: 'legend', 'aria-label': 'Colours' });
    this.panel = element('div', { class: 'flame' }, this.scroller, this.legend);
    this.context = this.canvas.getContext('2d');
    this.context.font = FONT;
    this.character = this.context.measureText('0').width;
    /** What of the graph is seen, in the metric's unit. */
    this.low = 0;
    this.high = 1;
    this.hover = -1;
    this.animation = 0;
    this.scroller.addEventListener('scroll', () => this.draw(), { passive: true });
    new ResizeObserver(() => this.resize()).observe(this.scroller);
    this.canvas.addEventListener('keydown', (event) => this.key(event));
    this.canvas.addEventListener('focus', () => this.draw());
    this.canvas.addEventListener('blur', () => this.draw());
    this.canvas.addEventListener('pointermove', (event) => this.point(event));
    this.canvas.addEventListener('pointerleave', () => this.pointAt(-1));
    this.canvas.addEventListener('pointerdown', (event) => this.press(event));
    this.canvas.addEventListener('pointerup', () => ([this.wasDragged, this.drag] = [this.drag?.moved, undefined]));
    this.canvas.addEventListener('click', (event) => this.click(event));
    this.canvas.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
  }

  /** What is shown changed: another tree, metric, direction or colouring. */
  show() {
    const { state, tree } = this.app;
    this.layout = tree.layout(state.metric, state.widths);
    this.palette = this.app.palette;
    this.drawLegend();
    this.resize(false);
    const node = Math.min(state.zoom, tree.size - 1);
    this.view(node, false);
  }

  get tree() {
    return this.app.tree;
  }

  /** Looks at a frame and all above it in the call stack. @param {number} node @param {boolean} animate */
  view(node, animate) {
    const { start, width } = this.layout;
    const to = [start[node], start[node] + (width[node] || 1)];
    this.scrollTo(this.tree.depth[node]);
    cancelAnimationFrame(this.animation);
    this.animation = 0;
    if (!animate || matchMedia('(prefers-reduced-motion: reduce)').matches) {
      [this.low, this.high] = to;
      this.draw();
      return;
    }
    const from = [this.low, this.high];
    const began = performance.now();
    const step = (now) => {
      const at = Math.min(1, Math.max(0, now - began) / 180);
      const eased = 1 - (1 - at) ** 3;
      [this.low, this.high] = [0, 1].map((side) => from[side] + (to[side] - from[side]) * eased);
      this.draw();
      this.animation = at < 1 ? requestAnimationFrame(step) : 0;
    };
    this.animation = requestAnimationFrame(step);
  }

  /** Has a row in sight, with some of its callers. @param {number} depth */
  scrollTo(depth) {
    const { scrollTop, clientHeight } = this.scroller;
    const top = this.rowTop(depth);
    const room = Math.min(3 * FRAME, clientHeight / 3);
    if (top < scrollTop + room || top + FRAME > scrollTop + clientHeight - room) {
      this.scroller.scrollTop = this.isFlame ? top - clientHeight + room + FRAME : top - room;
    }
  }

  get isFlame() {
    return this.app.state.direction === 'flame';
  }

  /** Where a row begins, from the top of all. @param {number} depth */
  rowTop(depth) {
    return this.isFlame ? this.height - (depth + 1) * FRAME : depth * FRAME;
  }

  resize(draw = true) {
    if (!this.layout || !this.scroller.clientWidth) return;
    const ratio = devicePixelRatio || 1;
    const [width, height] = [this.scroller.clientWidth, this.scroller.clientHeight];
    const wasAtEnd = this.isFlame && this.height && this.scroller.scrollTop + height >= this.height - 1;
    this.width = width;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    // Behind the canvas, which sticks to the top: what makes it all as high as the deepest stack.
    this.height = Math.max(height, (this.layout.depth + 1) * FRAME);
    this.space.style.height = `${this.height - height}px`;
    if (wasAtEnd) this.scroller.scrollTop = this.height;
    if (draw) this.draw();
  }

  draw() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.paint();
    });
  }

  paint() {
    if (!this.layout || !this.canvas.isConnected) return;
    const { context, tree, palette, width: wide } = this;
    const { start, width, children } = this.layout;
    const { matches, state } = this.app;
    const style = getComputedStyle(this.canvas);
    const [ink, back, hit, edge] = ['--ink', '--back', '--hit', '--accent'].map((name) => style.getPropertyValue(name));
    const [top, bottom] = [this.scroller.scrollTop, this.scroller.scrollTop + this.scroller.clientHeight];
    const scale = wide / (this.high - this.low || 1);
    context.clearRect(0, 0, wide, bottom - top);
    context.font = FONT;
    context.textBaseline = 'middle';
    /** @type {[string, number, number][]} */ const texts = [];
    const dim = [];
    this.painted = 0;
    const next = [0];
    while (next.length) {
      const node = /** @type {number} */ (next.pop());
      const from = Math.max(0, (start[node] - this.low) * scale);
      const to = Math.min(wide, (start[node] + width[node] - this.low) * scale);
      const y = this.rowTop(tree.depth[node]) - top;
      const isSeen = y + FRAME > 0 && y < bottom - top;
      if (isSeen) {
        this.painted++;
        const fn = tree.fn[node];
        const isHit = matches !== null && !FUNCTIONS.isOther(fn) && matches[fn] === 1;
        context.fillStyle = isHit ? hit : palette.colour(fn, node);
        context.globalAlpha =
          (matches !== null && !isHit) || (node < state.zoom && this.tree.end[node] > state.zoom) ? 0.42 : 1;
        const shown = Math.max(to - from - (to - from > 3 ? 1 : 0), THINNEST);
        context.fillRect(from, y, shown, FRAME - 1);
        if (to - from > 22)
          texts.push([label(fn, Math.floor((to - from - 9) / this.character)), from + 5, y + FRAME / 2]);
      }
      const below = this.isFlame ? y > 0 : y + FRAME < bottom - top;
      if (!below) continue;
      for (let at = children.start[node]; at < children.start[node + 1]; at++) {
        const child = children.list[at];
        if (width[child] * scale < THINNEST) {
          // The largest come first: what is left is too small to be seen one by one.
          const left = Math.max(0, (start[child] - this.low) * scale);
          const last = children.list[children.start[node + 1] - 1];
          const right = Math.min(wide, (start[last] + width[last] - this.low) * scale);
          if (right - left >= THINNEST) dim.push([left, this.rowTop(tree.depth[child]) - top, right - left]);
          break;
        }
        const x = (start[child] - this.low) * scale;
        if (x < wide && x + width[child] * scale > 0) next.push(child);
      }
    }
    context.globalAlpha = 0.25;
    context.fillStyle = ink;
    for (const [x, y, w] of dim) context.fillRect(x, y + FRAME / 2 - 1, w, 2);
    context.globalAlpha = 1;
    for (const [text, x, y] of texts) context.fillText(text, x, y);
    this.outline(this.hover, ink, 1, scale, top);
    this.outline(state.node, document.activeElement === this.canvas ? edge : ink, 2, scale, top, back);
  }

  /**
   * @param {number} node @param {string} colour @param {number} thick @param {number} scale @param {number} top @param
   * {string} [inner]
   */
  outline(node, colour, thick, scale, top, inner) {
    if (node < 0 || node >= this.tree.size) return;
    const { start, width } = this.layout;
    const from = Math.max(1, (start[node] - this.low) * scale);
    const to = Math.min(this.width - 1, (start[node] + width[node] - this.low) * scale);
    if (to < 0 || from > this.width) return;
    const y = this.rowTop(this.tree.depth[node]) - top;
    this.context.strokeStyle = colour;
    this.context.lineWidth = thick;
    this.context.strokeRect(from - 0.5, y - 0.5, Math.max(2, to - from), FRAME);
    if (inner && to - from > 8) {
      this.context.strokeStyle = inner;
      this.context.lineWidth = 1;
      this.context.strokeRect(from + 1, y + 1, to - from - 3, FRAME - 3);
    }
  }

  /** The frame at a place of the canvas; -1: none. @param {number} x @param {number} y */
  at(x, y) {
    const { start, width, children } = this.layout;
    const row = Math.floor((y + this.scroller.scrollTop) / FRAME);
    const depth = this.isFlame ? Math.ceil(this.height / FRAME - (y + this.scroller.scrollTop) / FRAME) - 1 : row;
    const value = this.low + (x / this.width) * (this.high - this.low);
    let node = 0;
    while (this.tree.depth[node] < depth) {
      let found = -1;
      for (let at = children.start[node]; at < children.start[node + 1] && found < 0; at++) {
        const child = children.list[at];
        if (value >= start[child] && value < start[child] + width[child]) found = child;
      }
      if (found < 0) return -1;
      node = found;
    }
    return depth < 0 ? -1 : node;
  }

  /** @param {PointerEvent} event */
  point(event) {
    if (this.drag && event.buttons & 1) {
      const by = ((this.drag.x - event.offsetX) / this.width) * (this.high - this.low);
      if (Math.abs(this.drag.x - event.offsetX) > 3 || this.drag.moved) {
        this.drag.moved = true;
        this.pan(this.drag.low + by - this.low);
        this.pointAt(-1);
        return;
      }
    }
    this.pointAt(this.at(event.offsetX, event.offsetY), event);
  }

  /** @param {number} node @param {PointerEvent} [event] */
  pointAt(node, event) {
    this.app.tip(node, event);
    this.canvas.style.cursor = node >= 0 ? 'pointer' : 'default';
    if (node === this.hover) return;
    this.hover = node;
    this.draw();
  }

  /** @param {PointerEvent} event */
  press(event) {
    this.drag = event.pointerType === 'mouse' ? { x: event.offsetX, low: this.low, moved: false } : undefined;
  }

  /** @param {MouseEvent} event */
  click(event) {
    if (this.wasDragged) return;
    const node = this.at(event.offsetX, event.offsetY);
    if (node >= 0) this.zoom(node);
  }

  /** Moves what is seen sideways. @param {number} by */
  pan(by) {
    const [least, most] = [-this.low, this.layout.width[0] - this.high];
    const moved = Math.max(Math.min(least, most), Math.min(Math.max(least, most), by));
    this.low += moved;
    this.high += moved;
    this.draw();
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    if (event.ctrlKey || event.metaKey) {
      const at = this.low + (event.offsetX / this.width) * (this.high - this.low);
      const by = Math.exp(event.deltaY * 0.002);
      const all = this.layout.width[0] || 1;
      this.low = Math.max(0, at - (at - this.low) * by);
      this.high = Math.min(all, at + (this.high - at) * by);
      this.draw();
      event.preventDefault();
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      this.pan(((event.deltaX || event.deltaY) / this.width) * (this.high - this.low));
      event.preventDefault();
    }
  }

  /** Selects a frame and makes it as wide as the graph. @param {number} node */
  zoom(node) {
    this.app.set({ zoom: node, node }, true);
    this.view(node, true);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { tree } = this;
    const { state } = this.app;
    const { start, width, children } = this.layout;
    const node = Math.max(0, Math.min(state.node, tree.size - 1));
    const isShown = (other) => other >= 0 && width[other] > 0;
    const beside = (by) => {
      const siblings = children.list.slice(children.start[tree.parent[node]], children.start[tree.parent[node] + 1]);
      const found = node ? (siblings[siblings.indexOf(node) + by] ?? -1) : -1;
      return found;
    };
    const callee = () => (children.start[node] < children.start[node + 1] ? children.list[children.start[node]] : -1);
    const [towards, back] = this.isFlame ? ['ArrowUp', 'ArrowDown'] : ['ArrowDown', 'ArrowUp'];
    let to = -1;
    if (event.key === towards) to = callee();
    else if (event.key === back) to = tree.parent[node];
    else if (event.key === 'ArrowLeft') to = beside(-1);
    else if (event.key === 'ArrowRight') to = beside(1);
    else if (event.key === 'Home') to = 0;
    else if (event.key === 'Enter') return (event.preventDefault(), this.zoom(node));
    else if (event.key === 'Escape' || event.key === 'Backspace') {
      event.preventDefault();
      return this.zoom(Math.max(0, tree.parent[state.zoom]));
    } else if (event.key === '+' || event.key === '-') {
      const [middle, half] = [
        (this.low + this.high) / 2,
        ((this.high - this.low) / 2) * (event.key === '+' ? 0.7 : 1.4),
      ];
      this.low = Math.max(0, middle - half);
      this.high = Math.min(width[0] || 1, middle + half);
      return this.draw();
    } else return;
    event.preventDefault();
    if (!isShown(to)) return;
    this.app.set({ node: to });
    const [from, until] = [start[to], start[to] + width[to]];
    // What has the keyboard is seen.
    if (until <= this.low || from >= this.high) this.view(to, true);
    else this.scrollTo(tree.depth[to]);
    this.draw();
  }

  drawLegend() {
    const { palette, app } = this;
    if (COMPARED) return this.legend.replaceChildren(...palette.legend());
    const { self } = app.tree.functions;
    /** @type {Map<string, number>} */ const weights = new Map();
    for (let fn = 0; fn < FUNCTIONS.count; fn++) {
      if (app.tree.functions.calls[fn] || self[fn] > 0) weights.set(palette.of(fn), (weights.get(palette.of(fn)) ?? 0) + self[fn]);
    }
    const groups = [...weights].sort((one, other) => other[1] - one[1]).slice(0, 12);
    this.legend.replaceChildren(
      ...groups.map(([group]) => {
        const swatch = element('i', { 'aria-hidden': 'true' });
        swatch.style.background = palette.sample(group);
        return element('li', {}, swatch, element('bdi', {}, group));
      }),
      ...(weights.size > groups.length ? [element('li', {}, `and ${weights.size - groups.length} more`)] : []),
    );
  }
}

/** What of a function's name fits into so many characters. @param {number} fn @param {number} room */
function label(fn, room) {
  const fits = [FUNCTIONS.name(fn), FUNCTIONS.short(fn), FUNCTIONS.member(fn)].find((name) => name.length <= room);
  return fits ?? FUNCTIONS.member(fn).slice(0, Math.max(0, room - 1)) + '…';
}
