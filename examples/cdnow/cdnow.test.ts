import assert from 'node:assert/strict'
import { join } from 'node:path'
import { it } from 'node:test'
import { createInstallation, runProgram } from '../../testing/fixtures/program.ts'
import { isShortRun } from '../../testing/fixtures/seeded-random.ts'

/** The whole sample in a full run. */
const LINES = isShortRun() ? '700' : null
const MAIN = join(import.meta.dirname, 'main.ts')

const WHOLE_SAMPLE = `\
CDNOW sample, 2357 customers, 1997-01-01 to 1998-06-30
in the file                           6919 purchases    244091.94 USD
  of these for 0.00                      8 purchases         0.00 USD
stored                                6919 purchases    244091.94 USD
accepted by the simulator             6919 purchases    244091.94 USD
  copies that it recognised              0
submissions                           7610
  answered 202, new                   6919
  answered 200, duplicate              691
  sent again (429, 503, no answer)       0
No differences.
`

const FIRST_700_LINES = `\
CDNOW sample, 217 customers, 1997-01-01 to 1998-06-27
in the file                            700 purchases     22768.10 USD
  of these for 0.00                      2 purchases         0.00 USD
stored                                 700 purchases     22768.10 USD
accepted by the simulator              700 purchases     22768.10 USD
  copies that it recognised              0
submissions                            770
  answered 202, new                    700
  answered 200, duplicate               70
  sent again (429, 503, no answer)       0
No differences.
`

const SECOND_RUN = `\
CDNOW sample, 111 customers, 1997-01-01 to 1998-06-20
in the file                            300 purchases     10200.13 USD
  of these for 0.00                      1 purchases         0.00 USD
stored                                 300 purchases     10200.13 USD
accepted by the simulator              300 purchases     10200.13 USD
  copies that it recognised              0
submissions                            330
  answered 202, new                      0
  answered 200, duplicate              330
  sent again (429, 503, no answer)       0
No differences.
`

it('real purchases are stored once and accepted once, to the cent', async test => {
  const place = createInstallation(test)
  // As fast as the machine is: a rate would only make the figures depend on it.
  await place.startReady({ environment: { SIGNALBOX_TRACKER_RATE_PER_SECOND: '0' } })
  const credentials = ['--credentials', join(place.dataFolder, 'credentials.json')]
  const run = (...options: string[]) => runProgram([MAIN, ...credentials, ...options])

  await test.test('a first run, every tenth purchase twice', async () => {
    const { code, stdout: log, stderr: terminal } = await run(...(LINES ? ['--first', LINES] : []))
    assert.equal(log, LINES ? FIRST_700_LINES : WHOLE_SAMPLE)
    assert.equal(code, 0)
    // No terminal is listening, so there is no bar but ten plain lines for each of the two tasks.
    assert.match(terminal, LINES ? /^sent 77\/770\n/ : /^sent 761\/7610\n/)
    assert.match(terminal, LINES ? /\nchecked 700\/700\n$/ : /\nchecked 6919\/6919\n$/)
    assert.equal(terminal.split('\n').length, 10 + 10 + 1)
  })

  await test.test('a second run finds every event and no difference', async () => {
    const { code, stdout: log } = await run('--first', '300')
    assert.equal(log, SECOND_RUN)
    assert.equal(code, 0)
  })

  await test.test('the check fails when the simulator lost its receipts', async () => {
    const { simulator_url } = place.credentials()
    await fetch(`${simulator_url}/_simulator/received`, { method: 'DELETE' })
    const { code, stdout: log } = await run('--first', '300', '--check-only')
    assert.equal(code, 1)
    assert.match(log, /^accepted by the simulator +0 purchases +0\.00 USD$/m)
    assert.match(
      log,
      /\n301 differences:\ncdnow-0001-00004-1997-01-01: the simulator counted it 0 times\n/,
    )
    assert.match(log, /\n\.\.\. and 281 more\n$/)
  })
})

it('what cannot run says why in one sentence, with exit code 1', async () => {
  const wrong: [string[], RegExp][] = [
    [
      ['--credentials', '/nowhere.json'],
      /^No credentials can be read from \/nowhere\.json: .+\.\n$/,
    ],
    [['--first', '0'], /^Usage: node examples\/cdnow\/main\.ts .+\n$/],
    [['--fast'], /^Usage: node examples\/cdnow\/main\.ts .+\n$/],
  ]
  for (const [options, sentence] of wrong) {
    const { code, stdout: log, stderr: terminal } = await runProgram([MAIN, ...options])
    assert.deepEqual([code, log], [1, ''])
    assert.match(terminal, sentence)
  }
})
