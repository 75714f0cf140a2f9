// The call tree as a list that opens and closes.

const DEEPEST_INDENT = 40;

class TreeView extends Grid {
  /** @param {any} app */
  constructor(app) {
    super(app, 'table tree', 'treegrid', 'Call tree');
  }

  show() {
    const { app } = this;
    const { metric } = app.state;
    this.total = app.tree.total(metric);
    this.self = app.tree.self(metric);
    this.base = COMPARED ? app.tree.total(metric, true) : null;
    this.children = app.tree.layout(metric, COMPARED ? 'either' : undefined).children;
    /** @type {Set<number>} */ this.open = new Set();
    /** @type {number[]} What is seen, in order. */
    this.nodes = [0];
    this.openWay(Math.max(0, app.state.node));
    const labels = COMPARED ? ['Method', 'Base', 'New', 'Change', 'in %'] : ['Method', 'Total', '', 'Self', 'Calls'];
    if (metric === 'calls' && !COMPARED) labels.splice(3, 2);
    setColumns(this.panel, labels.length - 1);
    this.head.replaceChildren(
      ...labels.map((text, place) => element('div', { role: 'columnheader', class: place ? 'number' : 'text' }, text)),
    );
    this.say = METRICS[metric].say;
    this.fill();
    const place = this.nodes.indexOf(Math.max(0, app.state.node));
    this.focused = Math.max(0, place);
    this.list.reveal(this.focused);
    this.list.redraw();
  }

  /** Opens the way to a path, and from there on along what took most. @param {number} node */
  openWay(node) {
    const { tree } = this.app;
    for (let above = tree.parent[node]; above >= 0; above = tree.parent[above]) this.open.add(above);
    for (let count = 0; count < 50; count++) {
      this.open.add(node);
      const first = this.children.list[this.children.start[node]];
      if (this.children.start[node] === this.children.start[node + 1] || this.total[first] < 0.5 * this.total[node])
        break;
      node = first;
    }
  }

  /** Lists what is seen. */
  fill() {
    this.nodes = [];
    const next = [0];
    while (next.length) {
      const node = /** @type {number} */ (next.pop());
      this.nodes.push(node);
      if (!this.open.has(node)) continue;
      for (let at = this.children.start[node + 1] - 1; at >= this.children.start[node]; at--)
        next.push(this.children.list[at]);
    }
    this.panel.setAttribute('aria-rowcount', String(this.nodes.length + 1));
    this.list.show(this.nodes.length);
  }

  /** @param {number} index */
  row(index) {
    const { app } = this;
    const { tree, matches } = app;
    const node = this.nodes[index];
    const fn = tree.fn[node];
    const [isOpen, hasMore] = [this.open.has(node), this.children.start[node] < this.children.start[node + 1]];
    const isSelected = index === this.focused;
    const arrow = element(
      'span',
      {
        class: 'arrow',
        'aria-hidden': 'true',
        onclick: (event) => (event.stopPropagation(), this.select(index), this.toggle(!isOpen)),
      },
      hasMore ? (isOpen ? '▾' : '▸') : '',
    );
    const name = element('div', { role: 'gridcell', class: 'text' }, arrow, methodName(fn));
    name.style.paddingInlineStart = `${Math.min(tree.depth[node], DEEPEST_INDENT) * 0.9}rem`;
    const isHit = matches !== null && !FUNCTIONS.isOther(fn) && matches[fn] === 1;
    const attributes = {
      role: 'row',
      class: `row${isSelected ? ' selected' : ''}${isHit ? ' hit' : ''}`,
      'aria-level': tree.depth[node] + 1,
      'aria-selected': String(isSelected),
      'aria-expanded': hasMore ? String(isOpen) : null,
      onclick: () => this.select(index),
      ondblclick: () => this.toggle(!isOpen),
    };
    return element('div', attributes, name, ...this.numbers(node));
  }

  /** The numbers of a path. @param {number} node */
  numbers(node) {
    const { tree, state } = this.app;
    const [now, share] = [this.total[node], this.total[node] / this.total[0]];
    if (this.base) {
      const base = this.base[node];
      return [
        numberCell(this.say(base), 'base'),
        numberCell(this.say(now), 'new', share),
        numberCell(signed(now - base, this.say), 'change'),
        numberCell(grown(base, now), 'percent'),
      ];
    }
    const counts = tree.counts(node);
    const total = words(state.metric, now, tree.errors[node], counts);
    const cells = [numberCell(total, 'total'), numberCell(percent(share, 1), 'share', share)];
    if (state.metric === 'calls') return cells;
    const self = words(state.metric, this.self[node], tree.own.error[node], counts);
    return [...cells, numberCell(self, 'self'), numberCell(count(counts.calls), 'calls')];
  }

  /** @param {number} index */
  select(index) {
    this.focused = Math.max(0, Math.min(this.nodes.length - 1, index));
    this.app.set({ node: this.nodes[this.focused] });
    this.list.reveal(this.focused);
    this.list.redraw();
  }

  /** Opens or closes what is selected. @param {boolean} open */
  toggle(open) {
    const node = this.nodes[this.focused];
    if (open) this.openWay(node);
    else this.open.delete(node);
    this.fill();
  }

  /** Has a path in sight. @param {number} node */
  reveal(node) {
    for (let above = this.app.tree.parent[node]; above >= 0; above = this.app.tree.parent[above]) this.open.add(above);
    this.fill();
    this.select(this.nodes.indexOf(node));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const node = this.nodes[this.focused];
    const by = rowsBy(event.key, Math.floor(this.panel.clientHeight / this.list.height) - 1);
    const isOpen = this.open.has(node);
    const hasMore = this.children.start[node] < this.children.start[node + 1];
    if (by !== undefined) this.select(this.focused + by);
    else if (event.key === 'ArrowRight' && !isOpen && hasMore) this.toggle(true);
    else if (event.key === 'ArrowRight' && hasMore) this.select(this.focused + 1);
    else if (event.key === 'ArrowLeft' && isOpen && hasMore) this.toggle(false);
    else if (event.key === 'ArrowLeft') this.select(this.nodes.indexOf(Math.max(0, this.app.tree.parent[node])));
    else if (event.key === 'Enter' && !FUNCTIONS.isOther(this.app.tree.fn[node]))
      this.app.set({ view: 'callers', method: this.app.tree.fn[node] }, true);
    else return;
    event.preventDefault();
  }
}
