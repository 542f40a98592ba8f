import { APIError, type Signalbox } from '@signalbox/sdk'
import { type Column, type LeadStage, type Problem, readLeads } from './read-leads.ts'

export interface SentLeads {
  /** Rows that are stored now. */
  sent: number
  /** Rows that an earlier run has sent. */
  earlier: number
  problems: Problem[]
  /** Rows that were not tried, after an error that the next row would meet, too. */
  untried: number
}

/** Sends each row as an event. A wrong row is a problem, and stops no other one. */
export async function sendLeads(
  signalbox: Signalbox,
  text: string,
  options: { source: string },
): Promise<SentLeads> {
  const { stages, problems } = readLeads(text, options)
  const result: SentLeads = { sent: 0, earlier: 0, problems, untried: 0 }
  for (const [at, stage] of stages.entries()) {
    const isSent = await sendStage(signalbox, stage, result)
    if (isSent) continue
    result.untried = stages.length - at - 1
    break
  }
  problems.sort((one, other) => one.line - other.line)
  return result
}

/** The column of each member that the service may name. */
const COLUMN_OF_MEMBER: Record<string, Column> = {
  event_name: 'stage',
  event_time: 'time',
  'user_data.lead_id': 'lead_id',
  'user_data.em': 'email',
  'click_ids.gclid': 'gclid',
  'value_data.value': 'value',
  'value_data.currency': 'currency',
  'consent.advertising': 'consent',
  'consent.captured_at': 'consented_at',
}

const DIFFERS = 'An earlier run sent this stage with other values: it differs, and those count.'

/** False: the service cannot be reached, or refuses the token. */
async function sendStage(
  signalbox: Signalbox,
  { line, event }: LeadStage,
  result: SentLeads,
): Promise<boolean> {
  const report = (member: string | null, message: string) => {
    const column = COLUMN_OF_MEMBER[member ?? ''] ?? null
    result.problems.push({ line, column, message })
  }
  try {
    const { duplicate, notices = [] } = await signalbox.events.create(event)
    if (duplicate) result.earlier += 1
    else result.sent += 1
    if (duplicate && notices.length > 0) report(null, DIFFERS)
    else for (const { field, message } of notices) report(field, message)
    return true
  } catch (error) {
    if (!(error instanceof Error)) throw error
    if (!(error instanceof APIError) || error.status !== 422) {
      report(null, `It was not sent: ${error.message}`)
      return false
    }
    for (const [field, messages] of Object.entries(error.errors)) report(field, messages.join(' '))
    if (Object.keys(error.errors).length === 0) report(null, error.message)
    return true
  }
}

/** What a person reads: a line for each problem, and then the counts. */
export function describeLeads({ sent, earlier, problems, untried }: SentLeads): string[] {
  return [
    ...problems.map(({ line, column, message }) => {
      const place = column === null ? `line ${line}` : `line ${line}, column "${column}"`
      return `${place}: ${message}`
    }),
    `${sent} sent, ${earlier} sent by an earlier run, ${problems.length} problems.`,
    ...(untried > 0 ? [`${untried} rows were not tried: run it again.`] : []),
  ]
}
