// The table of methods: sorted by any column, filtered by the search.

/** The columns; those of `single` are of single calls, which are known for all threads together. */
const TABLE = [
  { key: 'name', label: 'Method', title: 'Its name', text: true },
  {
    key: 'self',
    label: 'Self',
    title: 'Running in it alone',
    say: ticksAsTime,
    bar: 'running',
    error: 'error',
  },
  {
    key: 'total',
    label: 'Total',
    title: 'Running, with what it calls',
    say: ticksAsTime,
    bar: 'running',
    error: 'errorTotal',
  },
  {
    key: 'waiting',
    label: 'Waiting',
    title: 'In calls that wait, with what it calls',
    say: (value) => time(value * MS),
    some: true,
  },
  {
    key: 'cpu',
    label: 'CPU',
    title: 'CPU time in it alone, as a sampler saw it',
    say: (value) => time(value / 1e6),
    some: true,
  },
  { key: 'bytes', label: 'Bytes', title: 'Bytes that it alone allocated', say: size, some: true },
  {
    key: 'bytesTotal',
    label: 'All bytes',
    title: 'Bytes that it allocated, with what it calls',
    say: size,
    some: true,
  },
  { key: 'calls', label: 'Calls', title: 'How often it was called', say: count },
  {
    key: 'average',
    label: 'Average',
    title: 'A call, running and waiting; of an async method from start to completion',
    say: time,
  },
  { key: 'p50', label: 'p50', title: 'The median call', say: time, single: true, wide: true },
  { key: 'p95', label: 'p95', title: '95 % of calls did not take longer', say: time, single: true },
  { key: 'max', label: 'Max', title: 'The longest call but for the first', say: time, single: true },
  {
    key: 'first',
    label: 'First',
    title: 'The first call: compiling and loading are in it',
    say: time,
    single: true,
    wide: true,
  },
  { key: 'exceptions', label: 'Exceptions', title: 'How many exceptions left it', say: count, some: true },
];

class Table extends Grid {
  /** @param {any} app */
  constructor(app) {
    super(app, 'table', 'grid', 'Methods');
  }

  show() {
    const { app } = this;
    this.columns = (COMPARED ? COMPARED_COLUMNS : TABLE).filter((column) => {
      if (column.key === 'name' || column.key === 'calls') return true;
      if (column.single) return app.isAllThreads && app.methods[column.key].size > 0 && !(column.wide && app.isNarrow);
      if (COMPARED) return !column.some || app.rows.some((row) => row[column.key]);
      return app.rows.some((row) => row[column.key] > 0);
    });
    const sort = this.columns.some((column) => column.key === app.state.sort.replace(/^-/, ''))
      ? app.state.sort
      : COMPARED
        ? '-self-change'
        : '-calls';
    const [key, sign] = sort.startsWith('-') ? [sort.slice(1), -1] : [sort, 1];
    this.rows = app.rows.filter((row) => app.matches === null || app.matches[row.fn] === 1);
    const compare =
      key === 'name' ? (one, other) => one.name.localeCompare(other.name) : (one, other) => one[key] - other[key];
    // What is not known stands last, either way.
    const isNone = (row) => row[key] === undefined;
    this.rows.sort(
      (one, other) =>
        Number(isNone(one)) - Number(isNone(other)) ||
        (isNone(one) ? 0 : sign * compare(one, other)) ||
        one.name.localeCompare(other.name),
    );
    setColumns(this.panel, this.columns.length - 1);
    this.head.replaceChildren(
      ...this.columns.map((column) => {
        const isSorted = column.key === key;
        const button = element(
          'button',
          { title: column.title, onclick: () => this.sort(column, isSorted ? -sign : column.text ? 1 : -1) },
          column.label,
        );
        return element(
          'div',
          {
            role: 'columnheader',
            'aria-sort': isSorted ? (sign > 0 ? 'ascending' : 'descending') : 'none',
            class: column.text ? 'text' : 'number',
          },
          button,
        );
      }),
    );
    this.panel.setAttribute('aria-rowcount', String(this.rows.length + 1));
    this.focused = Math.max(
      0,
      this.rows.findIndex((row) => row.fn === app.state.method),
    );
    this.list.show(this.rows.length);
  }

  /** @param {any} column @param {number} sign */
  sort(column, sign) {
    this.app.set({ sort: (sign < 0 ? '-' : '') + column.key });
    this.show();
    const place = this.columns.indexOf(column);
    this.head.children[place]?.querySelector('button')?.focus();
  }

  /** @param {number} index */
  row(index) {
    const { app } = this;
    const row = this.rows[index];
    const cells = this.columns.map((column) => {
      if (column.text)
        return element('div', { role: 'gridcell', class: 'text' }, methodName(row.fn), ...app.remarks(row.fn));
      const value = row[column.key];
      const share = column.bar ? value / app.tree.total(column.bar)[0] : undefined;
      const cell = numberCell(value === undefined ? '' : this.words(column, row), column.key, share);
      if (column.judged && !changeOf(column.judged, row.fn)?.counts) cell.classList.add('zero');
      if (column.bar) cell.title = percent(value, app.tree.total(column.bar)[0]) + ' of all';
      return cell;
    });
    const isSelected = index === this.focused;
    return element(
      'div',
      {
        role: 'row',
        class: isSelected ? 'row selected' : 'row',
        'aria-selected': String(isSelected),
        onclick: () => this.select(index),
        ondblclick: () => this.open(),
      },
      ...cells,
    );
  }

  /** The text of a number. @param {any} column @param {any} row */
  words(column, row) {
    const value = row[column.key];
    return column.error ? ticksOf(value, row[column.error], row) : column.say(value);
  }

  /** @param {number} index */
  select(index) {
    this.focused = Math.max(0, Math.min(this.rows.length - 1, index));
    const row = this.rows[this.focused];
    if (row) this.app.set({ method: row.fn });
    this.list.reveal(this.focused);
    this.list.redraw();
  }

  /** Shows who calls what is selected. */
  open() {
    if (this.rows[this.focused]) this.app.set({ view: 'callers', method: this.rows[this.focused].fn }, true);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.target !== this.panel) return;
    const by = rowsBy(event.key, Math.floor(this.panel.clientHeight / this.list.height) - 1);
    if (by !== undefined) this.select(this.focused + by);
    else if (event.key === 'Enter') this.open();
    else return;
    event.preventDefault();
  }
}

/** A method's name, its own part strong. @param {number} fn */
function methodName(fn) {
  const type = FUNCTIONS.type(fn);
  return element(
    'bdi',
    { class: FUNCTIONS.isOther(fn) ? 'method other' : 'method', title: FUNCTIONS.name(fn) },
    element('span', {}, type ? `${type}.` : ''),
    element('b', {}, FUNCTIONS.member(fn)),
  );
}
