//! The score against the threshold, with what it is made of.
import { el } from './dom.js';

/** A number as people read it: at most four digits behind the point. */
export function number(value) {
  return String(Number(value.toFixed(4)));
}

/** What adds up to the score: name, amount, and how it came about. */
export function parts(report, { profile, rho, delta, beta_e, beta_r }) {
  const more = Math.max(0, report.distinct_categories - 1);
  const resampling = profile === 'paper'
    ? { amount: report.resampling ? beta_r : 0, how: report.resampling ? 'the same request again and again' : 'no repeated request' }
    : { amount: 0, how: report.resampling ? 'the same request again and again: flags, adds nothing' : 'no repeated request' };
  return [
    { name: 'peak', amount: report.peak, how: 'highest score of one turn' },
    { name: 'match ratio', amount: report.match_ratio * rho, how: `${number(report.match_ratio)} of the turns hit × ${rho}` },
    { name: 'diversity', amount: report.diversity, how: `${more} more ${more === 1 ? 'category' : 'categories'} × ${delta}` },
    { name: 'escalation', amount: report.escalation ? beta_e : 0, how: report.escalation ? 'the last turns rise' : 'no rise at the end' },
    { name: 'resampling', ...resampling },
  ].map((part) => part.name === 'resampling' ? part : { ...part, amount: part.amount * (report.window === null ? 1 : report.freshness) });
}

/** Which turns the parts are taken of, and how much of them counts. */
function windowOf(report) {
  if (report.window === null) {
    return 'no turn that counts was hit';
  }
  const [first, last] = report.window.map((turn) => report.turn_messages[turn]);
  const place = first === last ? `message ${first}` : `messages ${first} to ${last}`;
  return report.freshness < 1 ? `${place}, faded to ${number(report.freshness)}` : place;
}

/** The trajectory: the detector's highest score, its running sum, and how many events look suspicious. */
export function renderTrajectory(report, { version, tau_event, event_block, drift, alarm }) {
  const heading = el('h2', {}, 'Detector');
  if (report.detector === null) {
    return [heading, el('p', { className: 'hint' }, 'The paper has none.')];
  }
  const { events, peak, peak_message, persistence, frac_over_tau, alarm_message } = report.detector;
  const of = (message) => (message === null ? '' : `message ${message}; `);
  const row = (name, amount, how) =>
    el('tr', { className: amount > 0 ? '' : 'nothing' }, el('th', { scope: 'row' }, name), el('td', { className: 'amount' }, number(amount)), el('td', {}, how));
  return [heading, el('table', {}, el('tbody', {},
    row('highest event', peak, `${of(peak_message)}a turn is blocked from ${number(event_block)}`),
    row('running sum', persistence, `${alarm_message === null ? '' : `alarm at message ${alarm_message}; `}each event less ${number(drift)}, never below 0; blocked from ${number(alarm)}`),
    row('suspicious', frac_over_tau, `share of ${events} ${events === 1 ? 'event' : 'events'} at ${tau_event} or above`))),
  el('p', { className: 'hint' }, `Version ${version}. Events are user messages, tool results and the arguments of tool calls.`)];
}

/** The meter and the table of parts. */
export function renderScore(report, params) {
  if (!report.evaluated) {
    const text = params.profile === 'paper'
      ? `Not scored: a conversation needs ${params.min_user_turns} user messages or more.`
      : `Not scored: a conversation needs ${params.min_turns} turns (user messages and tool results) or more, one of them a user's.`;
    return [el('p', { className: 'hint' }, text)];
  }
  const list = parts(report, params);
  const segment = (part, index) =>
    el('span', { className: `part part-${index}`, style: { width: `${part.amount * 100}%` }, title: `${part.name} ${number(part.amount)}` });
  const tau = el('span', { className: 'tau', style: { left: `${params.tau * 100}%` } });
  const label = `Score ${number(report.score)} of 1; blocked from ${params.tau}`;
  const meter = el('div', { className: 'meter', role: 'img', ariaLabel: label }, ...list.map(segment), tau);
  const row = (part, index) =>
    el('tr', { className: part.amount > 0 ? '' : 'nothing' },
      el('th', { scope: 'row' }, el('span', { className: `swatch part-${index}` }), part.name),
      el('td', { className: 'amount' }, number(part.amount)), el('td', {}, part.how));
  const sum = list.reduce((total, part) => total + part.amount, 0);
  const capped = sum > report.score + 1e-9 ? `sum ${number(sum)}, capped at 1` : 'sum';
  const total = el('tr', { className: 'total' }, el('th', { scope: 'row' }, 'score'),
    el('td', { className: 'amount' }, number(report.score)), el('td', {}, `${capped}, of ${windowOf(report)}; blocked from ${params.tau}`));
  return [meter, el('table', {}, el('tbody', {}, ...list.map(row), total))];
}
