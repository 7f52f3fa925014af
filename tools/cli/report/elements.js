'use strict';

// Elements of the page, and figures as text.

/** An element with these attributes, of which those that begin with `on` are listeners, and these children. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? '' : value);
  }
  made.append(...children);
  return made;
}

// The content policy forbids style attributes in markup; a script may set each property.
function styled(made, properties) {
  for (const [name, value] of Object.entries(properties)) made.style.setProperty(name, value);
  return made;
}

const content = section => document.querySelector(`#${section} .content`);
const hint = (...children) => element('p', { class: 'hint' }, ...children);
const code = text => element('code', {}, text);
const part = (title, ...children) => element('div', { class: 'part' }, element('h3', {}, title), ...children);

const unknown = '–';
const count = number => number.toLocaleString('en');
const counted = (number, one, many) => `${count(number)} ${number === 1 ? one : many}`;
const aDay = 86400;
const date = seconds => new Date(seconds * 1000).toISOString().slice(0, 10);
const sum = (list, of) => list.reduce((total, each) => total + of(each), 0);
const greatest = (list, of) => list.reduce((most, each) => Math.max(most, of(each)), 0);

function percent(share) {
  if (share > 0 && share < 0.001) return 'under 0.1 %';
  return `${(100 * share).toFixed(share > 0 && share < 0.0995 ? 1 : 0)} %`;
}

function bytes(number) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let at = 0;
  for (; number >= 1024 && at + 1 < units.length; ++at) number /= 1024;
  return `${at === 0 ? number : number.toFixed(1)} ${units[at]}`;
}

function duration(milliseconds) {
  if (milliseconds === 0) return '0 s';
  if (milliseconds < 1) return `${(1000 * milliseconds).toFixed(0)} µs`;
  if (milliseconds < 1000) return `${milliseconds.toFixed(1)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  if (seconds < 7200) return `${(seconds / 60).toFixed(1)} min`;
  return seconds < 172800 ? `${(seconds / 3600).toFixed(1)} h` : `${(seconds / 86400).toFixed(1)} days`;
}

function age(seconds) {
  if (seconds < 3600) return `${Math.max(0, Math.floor(seconds / 60))} min`;
  return seconds < 86400 ? `${Math.floor(seconds / 3600)} h` : counted(Math.floor(seconds / 86400), 'day', 'days');
}

/** Rows by what `keyOf` gives for each, in the order in which that first comes. */
function grouped(rows, keyOf) {
  const groups = new Map();
  for (const row of rows) {
    const key = keyOf(row);
    if (groups.has(key)) groups.get(key).push(row);
    else groups.set(key, [row]);
  }
  return groups;
}
