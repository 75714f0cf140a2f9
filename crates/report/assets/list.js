// A list of any length: only the rows that are seen exist.

/** What a row is made by: its place in the list. @typedef {(index: number) => HTMLElement} MakeRow */

class VirtualList {
  /** @param {HTMLElement} scroller what scrolls @param {HTMLElement} body where rows go @param {MakeRow} make */
  constructor(scroller, body, make) {
    [this.scroller, this.body, this.make] = [scroller, body, make];
    this.length = 0;
    this.height = 28;
    this.body.classList.add('rows');
    scroller.addEventListener('scroll', () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(scroller);
  }

  /** @param {number} length */
  show(length) {
    this.length = length;
    this.height = parseFloat(getComputedStyle(this.scroller).getPropertyValue('--row')) || 28;
    this.body.style.height = `${length * this.height}px`;
    this.drawn = '';
    this.draw();
  }

  draw() {
    const above = Math.max(0, this.scroller.scrollTop - this.body.offsetTop);
    const first = Math.max(0, Math.floor(above / this.height) - 6);
    const last = Math.min(this.length, Math.ceil((above + this.scroller.clientHeight) / this.height) + 6);
    const drawn = `${first} ${last}`;
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const rows = [];
    for (let index = first; index < last; index++) {
      const row = this.make(index);
      row.style.top = `${index * this.height}px`;
      row.setAttribute('aria-rowindex', String(index + 2));
      rows.push(row);
    }
    this.body.replaceChildren(...rows);
  }

  /** Draws again what is seen. */
  redraw() {
    this.drawn = '';
    this.draw();
  }

  /** Scrolls so far that a row is seen. @param {number} index */
  reveal(index) {
    const { scroller, height } = this;
    const top = index * height;
    const head = this.body.offsetTop;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top + height + head > scroller.scrollTop + scroller.clientHeight)
      scroller.scrollTop = top + height + head - scroller.clientHeight;
    this.draw();
  }
}

/** A panel of rows below a head; who extends it has `row` and `key`, which make a row and answer a key. */
class Grid {
  /** @param {any} app @param {string} name its classes @param {string} role @param {string} label */
  constructor(app, name, role, label) {
    this.app = app;
    this.head = element('div', { class: 'row head', role: 'row', 'aria-rowindex': '1' });
    this.body = element('div', { role: 'rowgroup' });
    this.panel = element('div', { class: name, role, 'aria-label': label, tabindex: 0 }, this.head, this.body);
    this.list = new VirtualList(this.panel, this.body, (index) => this.row(index));
    this.panel.addEventListener('keydown', (event) => this.key(event));
    this.focused = 0;
  }
}

/** The keys that move in a list, and by how many rows. @param {string} key @param {number} page */
function rowsBy(key, page) {
  return { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[key];
}

/**
 * Tells a table how many columns of numbers it has beside the names.
 * @param {HTMLElement} table @param {number} numbers @param {string} [name]
 */
function setColumns(table, numbers, name = '15rem') {
  table.style.setProperty('--columns', `minmax(${name}, 1fr) repeat(${numbers}, 6.2rem)`);
  table.style.setProperty('--width', `calc(${name} + ${numbers} * 6.2rem + 1rem)`);
  table.style.setProperty('--count', String(numbers));
}

/**
 * A cell with a number.
 * @param {string} text @param {string} column what it is @param {number} [share] how much of the whole
 */
function numberCell(text, column, share) {
  const cell = element(
    'div',
    { role: 'gridcell', class: text === '0' ? 'number zero' : 'number', 'data-column': column },
    text,
  );
  if (share !== undefined) cell.prepend(bar(share));
  return cell;
}
