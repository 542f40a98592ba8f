import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type AnswerFigures, checkAnswers, checkResult } from './check-result.ts'
import { formatFigures } from './figure-lines.ts'
import { showProgress } from './progress.ts'
import { type Purchase, purchaseEvent, readPurchases, spreadOverRecentDays } from './purchases.ts'
import { type Credentials, createClient, readCredentials } from './read-credentials.ts'
import { submitAll, withRepeats } from './submit-events.ts'

const SAMPLE = join(import.meta.dirname, 'CDNOW_sample.txt')
const IN_FLIGHT_MAX = 32
const WAIT_SECONDS_MAX = 120
const DIFFERENCES_SHOWN_MAX = 20

const USAGE =
  'Usage: node examples/cdnow/main.ts [--credentials FILE] [--first LINES] [--check-only]'

try {
  process.exitCode = await run(process.argv.slice(2))
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
}

/** Sends the sample, checks the result and prints the figures. Returns the exit code. */
async function run(argumentList: string[]): Promise<number> {
  const { credentialsPath, linesMax, isCheckOnly } = readArguments(argumentList)
  const credentials = readCredentials(credentialsPath)
  const purchases = readPurchases(SAMPLE).slice(0, linesMax)
  const answers = isCheckOnly ? null : await send(purchases, credentials)
  const result = await checkResult(purchases, {
    credentials,
    inFlightMax: IN_FLIGHT_MAX,
    waitSecondsMax: WAIT_SECONDS_MAX,
    progress: showProgress('checked', purchases.length, process.stderr),
  })
  process.stdout.write(formatFigures({ purchases, answers, result }))
  const differences = [...(answers?.differences ?? []), ...result.differences]
  process.stdout.write(formatDifferences(differences))
  return differences.length === 0 ? 0 : 1
}

async function send(
  purchases: readonly Purchase[],
  credentials: Credentials,
): Promise<AnswerFigures> {
  const timeOf = spreadOverRecentDays(purchases, new Date())
  const events = purchases.map(purchase => purchaseEvent(purchase, timeOf(purchase)))
  const progress = showProgress('sent', withRepeats(events).length, process.stderr)
  return checkAnswers(
    await submitAll(events, {
      client: createClient(credentials),
      inFlightMax: IN_FLIGHT_MAX,
      progress,
    }),
  )
}

function formatDifferences(differences: readonly string[]): string {
  if (differences.length === 0) return 'No differences.\n'
  const shown = differences.slice(0, DIFFERENCES_SHOWN_MAX)
  const more = differences.length - shown.length
  const rest = more > 0 ? [`... and ${more} more`] : []
  return [`${differences.length} differences:`, ...shown, ...rest, ''].join('\n')
}

interface Arguments {
  credentialsPath: string
  linesMax: number
  isCheckOnly: boolean
}

function readArguments(argumentList: string[]): Arguments {
  try {
    const { values } = parseArgs({
      args: argumentList,
      options: {
        credentials: { type: 'string', default: join('.data', 'credentials.json') },
        first: { type: 'string', default: '1000000' },
        'check-only': { type: 'boolean', default: false },
      },
    })
    const linesMax = Number(values.first)
    if (!Number.isSafeInteger(linesMax) || linesMax < 1) throw new Error(USAGE)
    return { credentialsPath: values.credentials, linesMax, isCheckOnly: values['check-only'] }
  } catch (cause) {
    throw new Error(USAGE, { cause })
  }
}
