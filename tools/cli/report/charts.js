/** A bar of this share of its room, from 0 to 1. */
function bar(share, hue = '') {
  return element('span', { class: `bar ${hue}`, 'aria-hidden': 'true' },
    styled(element('i'), { width: `${100 * Math.min(1, share)}%` }));
}

/** A list of `{label, value, text, about, hue}`, each with a bar. */
function barList(items) {
  const most = greatest(items, item => item.value) || 1;
  return element('ul', { class: 'bars' }, ...items.map(item => element('li', {},
    element('div', { class: 'head' }, element('span', {}, item.label), element('span', {}, item.text)),
    bar(item.value / most, item.hue),
    ...(item.about ? [element('p', {}, item.about)] : []))));
}

/**
 * The periods of `days` in order, those without anything too: days, a week of them at least, or weeks where the days
 * are many. A period is `{day, hits, misses, saved_ms}`.
 */
function periodsOf(days) {
  const last = days[days.length - 1].day;
  const step = last - days[0].day >= 120 ? 7 : 1;
  const first = step === 7 ? days[0].day : Math.min(days[0].day, last - 6);
  const periods = [];
  for (let at = first; at <= last; at += step) periods.push({ day: at, hits: 0, misses: 0, saved_ms: 0 });
  for (const each of days) {
    const period = periods[Math.floor((each.day - first) / step)];
    for (const figure of ['hits', 'misses', 'saved_ms']) period[figure] += each[figure];
  }
  return { step, periods };
}

/**
 * Bars over time. `stack` gives the parts of a period's bar, `{value, hue}`, from the top down; `most` is the value of
 * a whole bar; `tell` gives a period's text.
 */
function chart({ title, remark, periods, stack, most, tell }) {
  const columns = periods.map(period => element('span', { title: `${date(period.day * aDay)}: ${tell(period)}` },
    ...stack(period).filter(({ value }) => value > 0).map(({ value, hue }) =>
      styled(element('i', { class: hue }), { height: `max(2px, ${100 * value / most}%)` }))));
  const ends = [periods[0], periods[periods.length - 1]];
  return element('figure', {},
    element('figcaption', {}, element('span', {}, title), element('span', {}, remark)),
    element('div', { class: 'days', role: 'img', 'aria-label': `${title}: ${remark}` }, ...columns),
    element('div', { class: 'axis', 'aria-hidden': 'true' },
      ...ends.map(period => element('span', {}, date(period.day * aDay)))));
}
