// What each section of the page shows of the data that stands in it. Names come from sources and file systems that
// nobody has vouched for: they reach the page as text and as attributes alone, never as markup.

const data = JSON.parse(document.getElementById('data').textContent);

// The data has a column for each figure; those of `named` hold positions in the list of all names.
function rowsOf(columns, named) {
  const figures = Object.entries(columns);
  return figures[0][1].map((_, at) => Object.fromEntries(
    figures.map(([figure, values]) => [figure, named.has(figure) ? data.names[values[at]] : values[at]])));
}

const entries = rowsOf(data.entries, new Set(['program', 'arch', 'image', 'toolchain']));
const kernels = rowsOf(data.kernels, new Set(['expression']))
  .map(kernel => ({ ...kernel, entry: entries[kernel.entry] }));
const programs = [...grouped(entries, entry => entry.program)].map(([program, of]) => ({
  program,
  archs: [...new Set(of.map(entry => entry.arch))].sort().join(', '),
  entries: of.length,
  bytes: sum(of, entry => entry.bytes),
  stored_bytes: sum(of, entry => entry.stored_bytes),
  compile_ms: sum(of, entry => entry.compile_ms),
})).sort((a, b) => b.bytes - a.bytes);

const hitRate = ({ hits, misses }) => hits + misses === 0 ? null : hits / (hits + misses);

const nothingKept = () => hint('Nothing is kept yet. ', code('kiln compile FILE --arch A'), ', ',
  code('kiln prewarm MANIFEST'), ' or a program that uses kiln fills it.');

// ---- Head, overview, foot

function drawHead() {
  const listed = data.manifests.length > 0 ? `, of it what ${data.manifests.join(', ')} lists` : '';
  document.getElementById('subject').textContent = `${data.bundle ? 'bundle' : 'cache'} ${data.file}${listed}`;
  document.title = `kiln report: ${data.file}`;
}

function drawFoot() {
  const { entries: small, kernels: modest } = data.left_out;
  const time = new Date(data.made * 1000).toISOString().slice(11, 16);
  const lines = [`Made by kiln ${data.kiln} on ${date(data.made)}, ${time} UTC. This file is whole: it loads nothing ` +
    'and sends nothing.'];
  if (data.damaged > 0) {
    lines.push(`${counted(data.damaged, 'entry is', 'entries are')} damaged and left out of the kernels; ` +
      'kiln verify tells more.');
  }
  if (small + modest > 0) {
    lines.push(`To stay small, it leaves out the ${counted(small, 'smallest entry', 'smallest entries')}, and ` +
      `${counted(modest, 'kernel', 'kernels')} of these or with the fewest spills and registers. The figures on top ` +
      'count all of them.');
  }
  document.querySelector('footer').append(...lines.map(line => element('p', {}, line)));
}

function fileTile({ file_bytes: size, max_bytes: most }) {
  const share = most > 0 ? `${percent(size / most)} of its limit, ${bytes(most)}` : 'without a limit';
  return ['File', bytes(size), data.bundle ? 'a bundle, read-only' : share];
}

function drawOverview() {
  const { totals, history } = data;
  const tiles = [
    ['Entries', count(totals.entries), `of ${counted(totals.programs, 'program', 'programs')}`],
    ['Images', bytes(totals.bytes), `${bytes(totals.stored_bytes)} as stored`],
    fileTile(totals),
    ['Kernels', count(totals.kernels), `${totals.spilling > 0 ? count(totals.spilling) : 'none'} known to spill`],
    ['Compile time kept', duration(totals.compile_ms), 'what it took to make all of it'],
  ];
  if (history) {
    const rate = hitRate(history);
    const requests = counted(history.hits + history.misses, 'request', 'requests');
    tiles.push(['Hit rate', rate === null ? unknown : percent(rate), `${count(history.hits)} of ${requests}`],
      ['Time saved', duration(history.saved_ms), 'that hits did not have to compile']);
  }
  document.querySelector('#overview .tiles').append(...tiles.map(([title, figure, more]) =>
    element('div', { class: 'tile' }, element('dt', {}, title),
      element('dd', { class: 'large' }, figure), element('dd', {}, more))));
}

// ---- Size

function drawSize(entryTable) {
  if (entries.length === 0) return content('size').append(nothingKept());
  const show = words => {
    entryTable.find(words);
    document.getElementById('entries').scrollIntoView();
  };
  if (programs.some(program => program.bytes > 0)) content('size').append(new Treemap(entries, show).host);
  content('size').append(table({
    what: ['program', 'programs'], rows: programs, shown: 8, search: row => `${row.program} ${row.archs}`,
    columns: [
      { title: 'Program', kind: 'name', of: row => row.program, below: row => row.archs },
      { title: 'Entries', of: row => row.entries, text: count, isMinor: true },
      { title: 'Size', of: row => row.bytes, text: bytes, bar: true },
      { title: 'Stored', of: row => row.stored_bytes, text: bytes, isMinor: true },
      { title: 'Compile time', of: row => row.compile_ms, text: duration, bar: true },
    ],
  }));
}

// ---- Compile time

function noTrace() {
  if (data.no_trace !== '') return hint(data.no_trace);
  return hint('No time trace was given. ', code('kiln report --manifest engine.json -o report.html'),
    ' compiles its programs once each and tells; or ', code('kiln trace FILE --arch A -o trace.json'),
    ' writes a trace, and ', code('kiln report --trace trace.json -o report.html'), ' shows it.');
}

function headers({ headers: rows, programs: many }) {
  if (many === 0) return [hint('No program could be compiled.')];
  if (rows.length === 0) {
    return [hint('The compiler told of no header: the programs read none, or it is older than NVRTC 13.0.')];
  }
  return [table({
    what: ['header', 'headers'], rows, shown: 10, search: row => row.name,
    columns: [
      {
        title: 'Header', kind: 'name', isCode: true, of: row => row.name.slice(row.name.lastIndexOf('/') + 1),
        below: row => row.name,
      },
      { title: 'Own time', of: row => row.own_ms, text: duration, bar: true },
      { title: 'With includes', of: row => row.all_ms, text: duration, bar: true },
      { title: 'Programs', of: row => row.programs, text: count, isMinor: true },
    ],
  }), hint(`In ${counted(many, 'program', 'programs')}. Without its include a header saves its own time at least, and `,
    'all of it where nothing else reads what it includes. Of one that only other headers include, the compiler tells ',
    'no more than its own.')];
}

function slowestPrograms() {
  const slowest = programs.filter(row => row.compile_ms > 0).sort((a, b) => b.compile_ms - a.compile_ms).slice(0, 10);
  if (slowest.length === 0) return hint('No compile times are kept here.');
  return barList(slowest.map(row => ({
    label: row.program,
    value: row.compile_ms,
    text: `${duration(row.compile_ms)}, ${counted(row.entries, 'entry', 'entries')}`,
  })));
}

function drawTime() {
  const { trace } = data;
  const byHeader = trace ? [...trace.failures.map(text => hint(text)), ...headers(trace)] : [noTrace()];
  const parts = [part('By program, the slowest', slowestPrograms())];
  if (trace && trace.phases.length > 0) {
    parts.push(part('By phase of the compiler', barList(trace.phases.slice(0, 10).map(phase =>
      ({ label: phase.name, value: phase.own_ms, text: duration(phase.own_ms) })))));
  }
  content('time').append(part('By header', ...byHeader), element('div', { class: 'part pair' }, ...parts));
}

// ---- Kernels

function drawKernels() {
  if (entries.length === 0) return content('kernels').append(nothingKept());
  content('kernels').append(table({
    what: ['kernel', 'kernels'], rows: kernels, shown: 20,
    search: row => `${row.expression} ${row.entry.program} ${row.entry.arch} ${row.entry.key}`,
    columns: [
      {
        title: 'Kernel', kind: 'name', isCode: true, of: row => row.expression,
        below: row => `${row.entry.program}, ${row.entry.arch}`,
      },
      { title: 'Arch', kind: 'word', of: row => row.entry.arch, isMinor: true },
      { title: 'Registers', of: row => row.registers, bar: 255 },
      { title: 'Spill stores', of: row => row.spill_store_bytes, text: bytes, bar: true, hue: 'bad' },
      { title: 'Spill loads', of: row => row.spill_load_bytes, text: bytes, bar: true, hue: 'bad', isMinor: true },
      { title: 'Local', of: row => row.local_bytes, text: bytes, bar: true, isMinor: true },
      { title: 'Shared', of: row => row.shared_bytes, text: bytes, bar: true },
      { title: 'Code', of: row => row.code_bytes, text: bytes, bar: true, isMinor: true },
      { title: 'Occupancy', of: row => row.occupancy, text: share => percent(share / 100), bar: 100 },
    ],
  }));
}

// ---- History

function charts({ step, periods }) {
  const a = step === 7 ? 'a week' : 'a day';
  const requests = greatest(periods, ({ hits, misses }) => hits + misses);
  const saved = greatest(periods, period => period.saved_ms);
  const all = { hits: sum(periods, period => period.hits), misses: sum(periods, period => period.misses) };
  const tell = ({ hits, misses, saved_ms: spared }) =>
    `${counted(hits, 'hit', 'hits')}, ${counted(misses, 'miss', 'misses')}, ${duration(spared)} saved`;
  return [
    chart({
      title: `Requests ${a}`, remark: `${count(requests)} at most`, periods, most: requests, tell,
      stack: ({ hits, misses }) => [{ value: misses, hue: 'bad' }, { value: hits, hue: 'hits' }],
    }),
    chart({
      title: 'Hit rate', remark: all.hits + all.misses > 0 ? `${percent(hitRate(all))} of all` : 'no requests',
      periods, most: 1, tell, stack: period => [{ value: hitRate(period) ?? 0, hue: 'hits' }],
    }),
    chart({
      title: `Compile time saved ${a}`, remark: `${duration(saved)} at most`, periods, most: saved, tell,
      stack: period => [{ value: period.saved_ms, hue: 'good' }],
    }),
  ];
}

function daysTable() {
  return table({
    what: ['day', 'days'], rows: [...data.days].reverse(), shown: 31, search: row => date(row.day * aDay),
    columns: [
      { title: 'Day', kind: 'word', of: row => date(row.day * aDay) },
      { title: 'Hits', of: row => row.hits, text: count, bar: true },
      { title: 'Misses', of: row => row.misses, text: count, bar: true, hue: 'bad' },
      { title: 'Hit rate', of: hitRate, text: percent },
      { title: 'Saved', of: row => row.saved_ms, text: duration, bar: true },
    ],
  });
}

function drawHistory() {
  const host = content('history');
  if (data.bundle) return host.append(hint('A bundle keeps no history; the caches that it fills do.'));
  if (data.days.every(({ hits, misses }) => hits + misses === 0)) {
    return host.append(hint('Nothing has been told yet. The tool tells at once; an engine tells when it stores and at ',
      'its end, and one that only hits tells at most once a day, so that a hit writes nothing.'));
  }
  host.append(element('div', { class: 'trio' }, ...charts(periodsOf(data.days))),
    element('ul', { class: 'legend' }, ...[['hits', 'hits'], ['bad', 'misses'], ['good', 'compile time saved']]
      .map(([hue, text]) => element('li', {}, element('i', { class: hue }), text))),
    element('details', {}, element('summary', {}, 'The days as a table'), daysTable()));
}

// ---- Misses

const removed = ({ evictions }) => evictions === 0 ? '' : ` ${counted(evictions, 'entry was', 'entries were')} ` +
  'removed to make room; a larger KILN_CACHE_MAX_SIZE keeps more.';

const reasons = [
  {
    counter: 'misses_absent', label: 'Nothing was stored for the request',
    about: history => 'It was asked for the first time: a new program, or another source, option, expression or ' +
      `architecture; or its entry was removed. kiln prewarm makes entries before anybody asks.${removed(history)}`,
  },
  {
    counter: 'misses_unfit', label: 'What was stored did not fit',
    about: () => 'A header that the program reads has changed, came or went; or the compiler here is another one ' +
      'than the one that made the entry.',
  },
  {
    counter: 'misses_untrusted', label: 'What was stored was not signed',
    about: () => 'Keys are set (KILN_TRUSTED_KEYS), and the entry of a bundle or of another user is signed by none of them. ' +
      'kiln verify --signatures tells which.',
  },
  {
    counter: 'misses_damaged', label: 'What was stored was damaged',
    about: () => 'Its checksum did not hold, and it was compiled anew. kiln verify tells whether more is damaged; ' +
      'suspect the disk.',
  },
  {
    counter: 'misses_unreadable', label: 'The file could not be read',
    about: () => 'The file system or SQLite refused. kiln doctor tells what is the matter with the cache.',
  },
];

function missesByReason() {
  if (data.bundle) return [hint('A bundle counts no misses.')];
  const { history } = data;
  const told = reasons.filter(({ counter }) => history[counter] > 0);
  if (told.length === 0) return [hint('No miss has been told yet.')];
  return [barList(told.map(({ counter, label, about }) => ({
    label,
    value: history[counter],
    hue: 'bad',
    about: about(history),
    text: `${count(history[counter])}, ${percent(history[counter] / history.misses)}`,
  }))), hint('A cache counts its misses by reason, and does not write down which request each one was. ',
    code('kiln explain FILE --arch A'), ' tells for one program in what the nearest entry differs, and ',
    code('kiln report --manifest engine.json'), ' for each program that a manifest lists.')];
}

function compiledAgain() {
  if (data.compiled_again.length === 0) return [hint('No request is stored more than once.')];
  return [table({
    what: ['request', 'requests'], rows: data.compiled_again, shown: 10,
    search: row => `${row.program} ${row.arch} ${row.differences.join(' ')}`,
    columns: [
      { title: 'Program', kind: 'name', of: row => row.program, below: row => `${row.arch}, ${row.image}` },
      { title: 'Entries', of: row => row.entries, text: count },
      { title: 'In what the newest differs from the one before', kind: 'text', of: row => row.differences.join('\n') },
    ],
  }), hint('Requests of which the cache holds several entries. All but the first were compiled because none of those ',
    'before them fitted.')];
}

function lookups({ asked, served, rows }) {
  return part(`What the manifest lists: ${count(served)} of ${count(asked)} would be served`, table({
    what: ['request', 'requests'], rows, shown: 10,
    search: row => `${row.program} ${row.arch} ${row.reason} ${row.differences.join(' ')}`,
    columns: [
      { title: 'Program', kind: 'name', of: row => row.program, below: row => `${row.arch}, ${row.image}` },
      { title: 'Served', kind: 'word', of: row => row.hit ? 'yes' : 'no' },
      {
        title: 'Why not, and how the nearest entry differs', kind: 'text',
        of: row => row.hit ? null : [...new Set([row.reason, ...row.differences])].join('\n'),
      },
    ],
  }));
}

function drawMisses() {
  if (data.lookups) content('misses').append(lookups(data.lookups));
  content('misses').append(part('By reason', ...missesByReason()), part('Compiled again', ...compiledAgain()));
}

// ---- Age and use

const ages = [
  { label: 'In the last day', below: aDay }, { label: 'In the last week', below: 7 * aDay },
  { label: 'In the last month', below: 31 * aDay }, { label: 'In the last three months', below: 92 * aDay },
  { label: 'In the last year', below: 366 * aDay }, { label: 'Before', below: Infinity },
];

// By the share of its limit that the cache has stored since.
const uses = [
  { label: 'Nothing', below: Number.MIN_VALUE }, { label: 'Up to an eighth of the limit', below: 1 / 8 },
  { label: 'Up to a half of it', below: 1 / 2 }, { label: 'Up to all of it', below: 1 },
  { label: 'More', below: Infinity },
];

/** The entries as bars, by the first step that is above what `of` gives for each. */
function stepped(steps, of) {
  const groups = grouped(entries, entry => steps.findIndex(({ below }) => of(entry) < below));
  return barList(steps.map(({ label }, at) => ({ label, rows: groups.get(at) ?? [] }))
    .filter(({ rows }) => rows.length > 0).map(({ label, rows }) => ({
      label,
      value: rows.length,
      text: `${counted(rows.length, 'entry', 'entries')}, ${bytes(sum(rows, entry => entry.bytes))}`,
    })));
}

function goesFirst() {
  const rows = entries.filter(entry => !entry.pinned).sort((a, b) => b.stored_since_use - a.stored_since_use);
  const pinned = entries.length - rows.length;
  return [table({
    what: ['entry', 'entries'], rows, shown: 8, search: row => `${row.program} ${row.arch} ${row.key}`,
    columns: [
      {
        title: 'Entry', kind: 'name', of: row => row.program,
        below: row => `${row.arch}, ${row.key.slice(0, 12)}`,
      },
      { title: 'Stored since its use', of: row => row.stored_since_use, text: bytes, bar: true },
      { title: 'Size', of: row => row.bytes, text: bytes, isMinor: true },
      { title: 'Age', of: row => data.made - row.created, text: age },
    ],
  }), hint('A cache measures use by the bytes that were stored since then. It marks an entry in use anew after an ',
    'eighth of what it may grow to, so that a hit writes nothing.',
    pinned > 0 ? ` ${counted(pinned, 'pinned entry stays', 'pinned entries stay')}.` : '')];
}

function drawAge() {
  if (data.bundle) {
    return content('age').append(hint('A bundle keeps no times and no marks of use, so that the same entries make the ',
      'same file.'));
  }
  if (entries.length === 0) return content('age').append(nothingKept());
  const limit = data.totals.max_bytes;
  const groups = [part('When they were made', stepped(ages, entry => data.made - entry.created))];
  if (limit > 0) {
    groups.push(part('What was stored since their use', stepped(uses, entry => entry.stored_since_use / limit)));
  }
  content('age').append(element('div', { class: 'pair' },
    element('div', {}, ...groups), part('What goes first', ...goesFirst())));
}

// ---- Entries

const entryTable = new DataTable({
  what: ['entry', 'entries'], rows: entries, shown: 15,
  search: row => `${row.program} ${row.arch} ${row.image} ${row.toolchain} ${row.key} ${row.pinned ? 'pinned' : ''}`,
  columns: [
    { title: 'Program', kind: 'name', of: row => row.program, below: row => row.toolchain },
    { title: 'Arch', kind: 'word', of: row => row.arch },
    { title: 'Image', kind: 'word', of: row => row.image, isMinor: true },
    { title: 'Key', kind: 'word', of: row => row.key.slice(0, 12), isMinor: true },
    { title: 'Kernels', of: row => row.kernels, text: count, isMinor: true },
    { title: 'Size', of: row => row.bytes, text: bytes, bar: true },
    { title: 'Stored', of: row => row.stored_bytes, text: bytes, isMinor: true },
    { title: 'Compile time', of: row => row.compile_ms > 0 ? row.compile_ms : null, text: duration, bar: true },
    { title: 'Age', of: row => row.created > 0 ? data.made - row.created : null, text: age, isMinor: true },
    { title: 'Pinned', kind: 'word', of: row => row.pinned ? 'pinned' : '', isMinor: true },
  ],
});

drawHead();
drawOverview();
drawSize(entryTable);
drawTime();
drawKernels();
drawHistory();
drawMisses();
drawAge();
content('entries').append(entries.length === 0 ? nothingKept() : entryTable.host);
drawFoot();
