import { hash } from 'node:crypto'
import type { EventSubmission } from '@signalbox/sdk'

export const COLUMNS = [
  ...['crm_id', 'lead_id', 'gclid', 'email', 'stage', 'time', 'value', 'currency'],
  ...['consent', 'consented_at'],
] as const
export type Column = (typeof COLUMNS)[number]

/** What is wrong with a row. Names the line and the column, and never holds a value. */
export interface Problem {
  line: number
  /** Null: the whole row. */
  column: Column | null
  message: string
}

/** A stage that a lead reached. */
export interface LeadStage {
  line: number
  event: EventSubmission & { event_id: string }
}

export interface ReadLeads {
  stages: LeadStage[]
  problems: Problem[]
}

interface Row {
  line: number
  cells: string[]
  problem?: string
}

const QUOTE = 'A quoted cell is not closed: no row from here on was read.'

/** Rows of comma-separated text (RFC 4180), each with the line on which it begins. */
export function parseRows(text: string): Row[] {
  const rows: Row[] = []
  let row: Row = { line: 1, cells: [] }
  let line = 1
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y
  const body = text.replace(/^\uFEFF/, '')
  while (cell.lastIndex < body.length) {
    const from = cell.lastIndex
    const [all, quoted, plain = '', end] = cell.exec(body) ?? []
    if (all === undefined) return [...rows, { line: row.line, cells: [], problem: QUOTE }]
    row.cells.push((quoted?.replaceAll('""', '"') ?? plain).trim())
    line += body.slice(from, from + all.length).split('\n').length - 1
    if (end === ',') {
      if (cell.lastIndex === body.length) row.cells.push('')
      else continue
    }
    if (row.cells.some(value => value !== '')) rows.push(row)
    row = { line, cells: [] }
  }
  return rows
}

/** `source` is the name of the CRM, which Meta asks for. */
export function readLeads(text: string, { source }: { source: string }): ReadLeads {
  const [header, ...rows] = parseRows(text)
  const names = header?.cells ?? []
  const problems: Problem[] = checkHeader(names)
  const stages: LeadStage[] = []
  if (problems.length > 0) return { stages, problems }
  const firstLines = new Map<string, number>()
  for (const { line, cells, problem } of rows) {
    const report = (column: Column | null, message: string) =>
      void problems.push({ line, column, message })
    if (problem !== undefined) report(null, problem)
    else if (cells.length !== names.length) {
      report(null, `It has ${cells.length} cells, and the header has ${names.length}.`)
    } else {
      const row = Object.fromEntries(names.map((name, at) => [name, cells[at] ?? '']))
      const event = toEvent(row as Record<Column, string>, { source, report })
      if (event === null) continue
      const first = firstLines.get(event.event_id)
      if (first === undefined) stages.push({ line, event })
      else report('stage', `Line ${first} has this stage of this lead: a stage counts once.`)
      firstLines.set(event.event_id, first ?? line)
    }
  }
  return { stages, problems }
}

function checkHeader(names: readonly string[]): Problem[] {
  const report = (message: string): Problem => ({ line: 1, column: null, message })
  const missing = COLUMNS.filter(column => !names.includes(column))
  const known: readonly string[] = COLUMNS
  const unknown = names.filter(name => !known.includes(name)).length
  const twice = names.length - new Set(names).size
  return [
    ...missing.map(column => report(`The column "${column}" is missing.`)),
    ...(unknown > 0 ? [report(`${unknown} columns are not known: ${COLUMNS.join()} are.`)] : []),
    ...(twice > 0 ? [report('Two columns have one name.')] : []),
  ]
}

type Report = (column: Column, message: string) => void

const DECIMAL = /^\d{1,15}(\.\d{1,6})?$/
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/

/** The form of each column; a blank cell is checked below. */
const FORMS: Partial<Record<Column, { form: RegExp; message: string }>> = {
  crm_id: { form: /^[^\s@]{1,100}$/, message: 'It needs an ID without spaces, no email address.' },
  lead_id: { form: /^\d{15,16}$/, message: "Meta's lead ID has 15 or 16 digits." },
  gclid: { form: /^[\w-]{8,512}$/, message: 'This is not a click ID of Google.' },
  email: { form: /^[^\s@]+@[^\s@]+\.[^\s@]+$/, message: 'This is not an email address.' },
  stage: { form: /^.{1,100}$/u, message: 'A stage has 1 to 100 characters.' },
  time: { form: TIME, message: 'Write an ISO 8601 time with its offset: 2026-11-21T10:00:00Z.' },
  value: { form: DECIMAL, message: 'Write a decimal number with a point and no separators.' },
  currency: { form: /^[A-Z]{3}$/, message: 'Write a currency code of three capitals.' },
  consent: { form: /^granted$/, message: 'Only a lead with `granted` is sent.' },
  consented_at: { form: TIME, message: 'Write an ISO 8601 time with its offset.' },
}
const REQUIRED: readonly Column[] = ['crm_id', 'stage', 'time', 'consent']

function toEvent(
  row: Record<Column, string>,
  { source, report }: { source: string; report: Report },
) {
  let isValid = true
  const refuse: Report = (column, message) => {
    isValid = false
    report(column, message)
  }
  for (const column of COLUMNS) {
    const rule = FORMS[column]
    const isUnfilled = row[column] === '' && !REQUIRED.includes(column)
    if (rule && !isUnfilled && !rule.form.test(row[column])) refuse(column, rule.message)
  }
  for (const column of ['time', 'consented_at'] as const)
    if (TIME.test(row[column]) && Number.isNaN(Date.parse(row[column])))
      refuse(column, 'There is no such day or hour.')
  if (row.lead_id === '' && row.gclid === '' && row.email === '')
    refuse('lead_id', 'A row needs a lead_id, a gclid or an email: no platform can match it.')
  if (row.value !== '' && row.currency === '') refuse('currency', 'A value needs its currency.')
  return isValid ? buildEvent(row, source) : null
}

/**
 * One event for each stage of each lead. Its ID is made from both, so that a file may be sent again
 * after new rows came. For Meta: `system_generated`, `event_source` and `lead_event_source` (its
 * page "Payload Specification" of Conversion Leads). Google reads the click ID and the email.
 */
function buildEvent(row: Record<Column, string>, source: string): LeadStage['event'] {
  const key = hash('sha256', JSON.stringify([row.crm_id, row.stage])).slice(0, 32)
  return {
    event_id: `lead-stage-${key}`,
    event_name: row.stage,
    event_time: row.time,
    action_source: 'system_generated',
    consent_basis: 'consent',
    consent: {
      advertising: 'granted',
      ...(row.consented_at !== '' && { captured_at: row.consented_at }),
    },
    user_data: {
      ...(row.lead_id !== '' && { lead_id: row.lead_id }),
      ...(row.email !== '' && { em: row.email }),
    },
    ...(row.gclid !== '' && { click_ids: { gclid: row.gclid } }),
    value_data: {
      ...(row.value !== '' && { value: row.value, currency: row.currency }),
      custom_properties: { event_source: 'crm', lead_event_source: source },
    },
  }
}
