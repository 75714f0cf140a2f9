'use strict';
// The page of a difference. `data` has all; the document gets what is opened, when it is opened.

const data = JSON.parse(document.getElementById('data').textContent);

/** So many types are open at first, if they have no more changes than this together. */
const OPEN_TYPES = 3;
const OPEN_CHANGES = 12;
const REST = 'Assembly';

function newType(name, words) {
  return { name, words, changes: [], generated: 0, section: null };
}

/** The types as they are compared, and the changes that belong to no type. */
const compared = data.types.map(([name, words]) => newType(name, words));
const rest = newType(REST, '');
for (const [place, kind, name, newName, word, added, removed, hunks] of data.changes) {
  const type = place === null ? rest : compared[place];
  type.changes.push({ kind, name, newName, word, added, removed, hunks });
}

function count(number, word) {
  return number === 1 ? `1 ${word}` : `${number} ${word}s`;
}

/** The type that a compiler-generated type is nested in, or null for other types. */
function enclosing(name) {
  const at = name.indexOf("/'<");
  return at < 0 ? null : name.slice(0, at);
}

/** The method that a name was generated for, as in `'<Load>d__5'` and `'<Load>b__0'`. */
function methodOf(name) {
  return /<(\w[^<>]*)>/.exec(name.slice(name.indexOf("'<") + 1))?.[1] ?? null;
}

/** Puts the changes of a compiler-generated type behind those of its methods in the type that encloses it. */
function moveInto(type, generated) {
  for (const change of generated.changes) {
    const method = methodOf(generated.name) ?? methodOf(change.name.slice(change.name.indexOf('::')));
    const isOfMethod = (other) => method !== null && (other.name.includes(`::${method}(`) || other.method === method);
    const at = type.changes.findLastIndex(isOfMethod);
    type.changes.splice(at < 0 ? type.changes.length : at + 1, 0, { ...change, method });
    type.generated += 1;
  }
}

/** The listed types in order. What belongs to no type is the last. */
const types = [];
const byName = new Map();
function listed(name, words) {
  if (!byName.has(name)) {
    byName.set(name, newType(name, words));
    types.push(byName.get(name));
  }
  return byName.get(name);
}
for (const type of compared) {
  if (enclosing(type.name) !== null) continue;
  byName.set(type.name, type);
  types.push(type);
}
for (const type of compared) {
  const outer = enclosing(type.name);
  if (outer !== null) moveInto(listed(outer, ''), type);
}
for (const type of types.filter((each) => each.generated > 0)) {
  const words = count(type.generated, 'change') + ' of compiler-generated types';
  type.words = type.words === '' ? words : `${type.words}, ${words}`;
}
if (rest.changes.length > 0) {
  rest.words = count(rest.changes.length, 'change');
  types.push(rest);
}

/** An element with attributes and children. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** What is the same at the start of two lines, and at their end. */
function common(old, now) {
  const least = Math.min(old.length, now.length);
  let start = 0;
  while (start < least && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < least - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end += 1;
  return [start, end];
}

/** A line's cell; `other` is the line that it stands beside. */
function cell(line, other, kind, mark) {
  const sign = { a: '+', d: '-' }[kind] ?? '';
  if (line === undefined) return element('td', { class: 'n' });
  const made = element('td', { class: kind, 'data-sign': sign });
  if (other === undefined || !mark) {
    made.append(line);
    return made;
  }
  const [start, end] = common(line, other);
  made.append(line.slice(0, start));
  if (start < line.length - end) made.append(element(mark, {}, line.slice(start, line.length - end)));
  made.append(line.slice(line.length - end));
  return made;
}

/** A table's rows of a hunk: what is removed beside what came for it. */
function rows(body, [old, now, lines]) {
  body.append(element('tr', { class: 'h' }, element('td', {}, `line ${old}`), element('td', {}, `line ${now}`)));
  let removed = [];
  let added = [];
  const flush = () => {
    for (let row = 0; row < Math.max(removed.length, added.length); row += 1) {
      body.append(
        element(
          'tr',
          {},
          cell(removed[row], added[row], 'd', 'del'),
          cell(added[row], removed[row], 'a', 'ins'),
        ),
      );
    }
    removed = [];
    added = [];
  };
  for (const line of lines) {
    const text = line.slice(1);
    if (line[0] === '-') removed.push(text);
    else if (line[0] === '+') added.push(text);
    else {
      flush();
      body.append(element('tr', { class: 'c' }, cell(text), cell(text)));
    }
  }
  flush();
}

/** Has something filled when it is opened first. */
function lazy(details, fill) {
  let isFilled = false;
  details.fill = () => {
    if (!isFilled) fill();
    isFilled = true;
  };
  details.addEventListener('toggle', () => {
    if (details.open) details.fill();
  });
}

function open(details) {
  details.fill?.();
  details.open = true;
}

function changeElement(change) {
  const name = change.newName === null ? change.name : `${change.name} → ${change.newName}`;
  const title = [element('span', { class: 'k' }, `${change.word} ${change.kind} `), name];
  if (change.hunks.length === 0) {
    const line = element('details', { class: 'change' }, element('summary', {}, ...title));
    return line;
  }
  title.push(element('span', { class: 'k' }, ` +${change.added} -${change.removed}`));
  const details = element('details', { class: 'change' }, element('summary', {}, ...title));
  lazy(details, () => {
    const body = element('tbody');
    for (const hunk of change.hunks) rows(body, hunk);
    details.append(element('table', {}, body));
  });
  return details;
}

function typeElement(type, place) {
  const summary = element('summary', {}, type.name, element('span', { class: 'k' }, ` ${type.words}`));
  const details = element('details', { class: 'type' }, summary);
  lazy(details, () => details.append(...type.changes.map(changeElement)));
  type.section = element('section', { id: `t${place}` }, details);
  const link = element('a', { href: `#t${place}`, title: `${type.name}: ${type.words}` }, element('bdi', {}, type.name));
  type.entry = element('li', {}, link, element('span', { class: 'k' }, String(type.changes.length)));
  type.text = [type.name, ...type.changes.flatMap((change) => [change.name, change.newName ?? ''])].join('\n').toLowerCase();
  return type.section;
}

const filter = element('input', {
  type: 'search',
  id: 'filter',
  placeholder: 'Filter types and members',
  'aria-label': 'Filter types and members',
});
const collapse = element('button', { id: 'collapse' }, 'Collapse all');
const found = element('span', { class: 'k', id: 'found', 'aria-live': 'polite' });
const keys = 'Keys: / filter, j and k next and previous, o open or close, c collapse all';
document.body.append(
  element(
    'header',
    {},
    element('h1', {}, `${data.files[0]} and ${data.files[1]}`),
    element('p', { id: 'words' }, data.words),
    element('p', {}, filter, ' ', collapse, ' ', found),
    element('p', { class: 'k' }, keys),
  ),
  element(
    'div',
    { id: 'layout' },
    element('nav', { 'aria-label': 'Contents' }, element('ol')),
    element('main', {}, ...types.map(typeElement)),
  ),
);
document.querySelector('nav ol').append(...types.map((type) => type.entry));

/** Shows the types that have what is looked for, in their name or in a member's. */
function applyFilter() {
  const wanted = filter.value.trim().toLowerCase();
  let count = 0;
  for (const type of types) {
    const isShown = type.text.includes(wanted);
    type.section.hidden = !isShown;
    type.entry.hidden = !isShown;
    count += isShown ? 1 : 0;
  }
  found.textContent = wanted === '' ? '' : `${count} of ${types.length}`;
}

function collapseAll() {
  for (const details of document.querySelectorAll('main details[open]')) details.open = false;
}

/** The summaries that can be seen, in order. */
function summaries() {
  return [...document.querySelectorAll('main summary')].filter((each) => {
    const details = each.parentElement;
    const outer = details.parentElement.closest('details');
    return !details.closest('section').hidden && (outer === null || outer.open);
  });
}

function step(by) {
  const all = summaries();
  const at = all.indexOf(document.activeElement);
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by];
  next?.focus();
  next?.scrollIntoView({ block: 'nearest' });
}

filter.addEventListener('input', applyFilter);
collapse.addEventListener('click', collapseAll);
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (document.activeElement === filter) {
    if (event.key === 'Escape') filter.blur();
    return;
  }
  const action = {
    '/': () => filter.focus(),
    j: () => step(1),
    k: () => step(-1),
    c: collapseAll,
    o: () => {
      const details = document.activeElement.closest?.('main details');
      if (details?.open) details.open = false;
      else if (details) open(details);
    },
  }[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});

function showHash() {
  const section = document.getElementById(location.hash.slice(1));
  const details = section?.querySelector('details');
  if (!details) return;
  open(details);
  section.scrollIntoView();
}
addEventListener('hashchange', showHash);

let opened = 0;
for (const type of types.slice(0, OPEN_TYPES)) {
  opened += type.changes.length;
  if (opened > OPEN_CHANGES) break;
  const details = type.section.querySelector('details');
  open(details);
  details.querySelectorAll('details').forEach(open);
}
showHash();
