// One method: what is known of it, who calls it, whom it calls.

class Callers {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    this.card = element('section', { class: 'card', 'aria-label': 'The method' });
    this.sides = ['Callers', 'Callees'].map((label) => {
      const body = element('div', { role: 'rowgroup' });
      const head = element('div', { class: 'row head', role: 'row' });
      const grid = element('div', { class: 'table', role: 'grid', 'aria-label': label, tabindex: 0 }, head, body);
      const side = {
        label,
        head,
        grid,
        rows: [],
        focused: 0,
        list: new VirtualList(grid, body, (index) => this.row(side, index)),
      };
      grid.addEventListener('keydown', (event) => this.key(side, event));
      return side;
    });
    const [callers, callees] = this.sides.map((side) => side.grid);
    this.panel = element('div', { class: COMPARED ? 'callers compared' : 'callers' }, callers, this.card, callees);
  }

  show() {
    const { app } = this;
    const { metric } = app.state;
    const fn = app.state.method >= 0 ? app.state.method : (app.rows[0]?.fn ?? -1);
    if (fn < 0) return;
    app.state.method = fn;
    const neighbours = app.tree.neighbours(fn, metric);
    const all = app.tree.total(metric)[0];
    this.sides.forEach((side, place) => {
      side.rows = place ? neighbours.callees : neighbours.callers;
      side.all = all;
      side.focused = 0;
      setColumns(side.grid, COMPARED ? 3 : 2, '8rem');
      const numbers = COMPARED ? ['Base', 'New', 'Change'] : [METRICS[metric].short, 'Calls'];
      const labels = [`${side.label} (${side.rows.length})`, ...numbers];
      side.head.replaceChildren(
        ...labels.map((text, column) =>
          element('div', { role: 'columnheader', class: column ? 'number' : 'text' }, text),
        ),
      );
      side.list.show(side.rows.length);
    });
    this.drawCard(fn);
  }

  /** @param {number} fn */
  drawCard(fn) {
    const { app } = this;
    const facts = [
      ...(COMPARED ? [] : this.measured(app.rowOf.get(fn))),
      ['Source', FUNCTIONS.source(fn) || null],
      ['Assembly', FUNCTIONS.assembly(fn) || null],
      ['Token', FUNCTIONS.token(fn) || null],
    ];
    this.card.replaceChildren(
      element('h2', {}, methodName(fn)),
      element('p', { class: 'remarks' }, ...app.remarks(fn)),
      ...(COMPARED ? [comparedFacts(fn)] : []),
      element(
        'dl',
        {},
        ...facts
          .filter(([, value]) => value !== null)
          .flatMap(([label, value]) => [
            element('dt', {}, label),
            element('dd', { 'data-fact': label }, element('bdi', {}, value)),
          ]),
      ),
      element(
        'p',
        {},
        element('button', { onclick: () => app.showInGraph(fn) }, 'In the flame graph'),
        ' ',
        element('button', { onclick: () => app.set({ view: 'table' }, true) }, 'In the table'),
      ),
    );
  }

  /** What was measured of a method; null is what was not. @param {any} [row] */
  measured(row) {
    if (!row) return [];
    const { app } = this;
    const { isAllThreads, methods } = app;
    const single = (column) => (isAllThreads && methods[column].has(row.fn) ? time(methods[column].get(row.fn)) : null);
    const running = app.tree.total('running')[0];
    return [
      ['Self', `${ticksOf(row.self, row.error, row)} · ${percent(row.self, running)}`],
      ['Total', `${ticksOf(row.total, row.errorTotal, row)} · ${percent(row.total, running)}`],
      ['Waiting', row.waiting ? time(row.waiting * MS) : null],
      ['CPU', row.cpu ? time(row.cpu / 1e6) : null],
      ['Bytes', row.bytesTotal ? `${size(row.bytes)} · ${size(row.bytesTotal)} with what it calls` : null],
      ['Calls', count(row.calls)],
      ['Average', row.average === undefined ? null : time(row.average)],
      ['First', single('first')],
      ['Min', single('min')],
      ['p50', single('p50')],
      ['p95', single('p95')],
      ['p99', single('p99')],
      ['Max', single('max')],
      ['Suspended', single('awaiting')],
      ['Exceptions', row.exceptions ? count(row.exceptions) : null],
    ];
  }

  /** @param {any} side @param {number} index */
  row(side, index) {
    const { fn, calls, counted, value, error, base } = side.rows[index];
    const { metric } = this.app.state;
    const say = METRICS[metric].say;
    const number = numberCell(words(metric, value, error, { calls, counted }), 'value', value / side.all);
    number.title = `${percent(value, side.all)} of all`;
    const isSelected = index === side.focused && document.activeElement === side.grid;
    return element(
      'div',
      {
        role: 'row',
        class: isSelected ? 'row selected' : 'row',
        'aria-selected': String(isSelected),
        onclick: () => this.go(fn),
      },
      element('div', { role: 'gridcell', class: 'text' }, methodName(fn)),
      ...(COMPARED
        ? [numberCell(say(base), 'base'), number, numberCell(signed(value - base, say), 'change')]
        : [number, numberCell(count(calls), 'calls')]),
    );
  }

  /** @param {number} fn */
  go(fn) {
    if (!FUNCTIONS.isOther(fn)) this.app.set({ method: fn }, true);
  }

  /** @param {any} side @param {KeyboardEvent} event */
  key(side, event) {
    const by = rowsBy(event.key, Math.floor(side.grid.clientHeight / side.list.height) - 1);
    if (by !== undefined) {
      side.focused = Math.max(0, Math.min(side.rows.length - 1, side.focused + by));
      side.list.reveal(side.focused);
      side.list.redraw();
    } else if (event.key === 'Enter' && side.rows[side.focused]) this.go(side.rows[side.focused].fn);
    else return;
    event.preventDefault();
  }
}
