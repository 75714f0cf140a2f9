// Numbers and elements.

/** A time as people say it, three digits of it: `28 ns`, `1.25 µs`, `13.8 ms`, `2.10 s`. @param {number} ms */
function time(ms) {
  if (ms < 0) return '−' + time(-ms);
  if (ms === 0) return '0';
  const [unit, size] = ms >= 1e3 ? ['s', 1e3] : ms >= 1 ? ['ms', 1] : ms >= 1e-3 ? ['µs', 1e-3] : ['ns', 1e-6];
  const value = ms / size;
  const digits = unit === 'ns' || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${unit}`;
}

/**
 * A time without the digits that its possible error makes meaningless; `< 0.4 ms` if it is below the error.
 * @param {number} ms @param {number} error in ms
 */
function roughTime(ms, error) {
  const size = ms >= 1e3 ? 1e3 : ms >= 1 ? 1 : ms >= 1e-3 ? 1e-3 : 1e-6;
  if (!(error > 0)) return time(ms);
  if (ms < error) return '< ' + time(roundedUp(error));
  const digits = Math.max(0, Math.ceil(-Math.log10(error / size)));
  const [value, unit] = time(ms).split(' ');
  return `${Number(value).toFixed(Math.min(digits, (value.split('.')[1] ?? '').length))} ${unit}`;
}

/** The next larger number with one digit that is not zero. @param {number} value */
function roundedUp(value) {
  const size = 10 ** Math.floor(Math.log10(value));
  return Math.ceil(value / size) * size;
}

/** A number with its thousands apart. @param {number} number */
function count(number) {
  return Math.round(number).toLocaleString('en-US').replaceAll(',', '\u202f');
}

/** A number of bytes: `812 B`, `6.5 KiB`, `14.2 MiB`. @param {number} bytes */
function size(bytes) {
  if (bytes < 0) return '−' + size(-bytes);
  let unit = 0;
  for (; bytes >= 1024 && unit < 3; unit++) bytes /= 1024;
  return `${unit ? bytes.toFixed(1) : Math.round(bytes)} ${['B', 'KiB', 'MiB', 'GiB'][unit]}`;
}

/** A part of a whole. @param {number} part @param {number} whole */
function percent(part, whole) {
  const value = whole > 0 ? (part / whole) * 100 : 0;
  return `${value.toFixed(Math.abs(value) >= 99.95 ? 0 : Math.abs(value) >= 10 ? 1 : 2)} %`;
}

/** `1 method`, `2 methods`. @param {number} number @param {string} noun */
function counted(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? '' : 's'}`;
}

/**
 * An element with attributes and children; texts are texts, whatever is in them.
 * @param {string} tag @param {Object<string, any>} [attributes] @param {...(Node|string|null|undefined)} children
 */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, '');
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
}

/** A bar behind a number: how much of the whole it is. @param {number} share */
function bar(share) {
  const made = element('i', { class: 'bar', 'aria-hidden': 'true' });
  made.style.width = `${Math.max(0, Math.min(1, share || 0)) * 100}%`;
  return made;
}

/** @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);
