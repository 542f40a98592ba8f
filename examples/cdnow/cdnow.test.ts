// Full run only: imports a history of orders.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { it } from 'node:test'
import { createInstallation, runProgram } from '../../testing/fixtures/program.ts'

const MAIN = join(import.meta.dirname, 'main.ts')

const WHOLE_SAMPLE = `\
CDNOW sample, 2357 customers, 1997-01-01 to 1998-06-30
in the file                           6919 purchases    244091.94 USD
  of these for 0.00                      8 purchases         0.00 USD
stored                                6919 purchases    244091.94 USD
accepted by the simulator             6919 purchases    244091.94 USD
  duplicates                             0
submissions                           7610
  answered 202, new                   6919
  answered 200, duplicate              691
  retries                                0
No differences.
`

const SECOND_RUN = `\
CDNOW sample, 111 customers, 1997-01-01 to 1998-06-20
in the file                            300 purchases     10200.13 USD
  of these for 0.00                      1 purchases         0.00 USD
stored                                 300 purchases     10200.13 USD
accepted by the simulator              300 purchases     10200.13 USD
  duplicates                             0
submissions                            330
  answered 202, new                      0
  answered 200, duplicate              330
  retries                                0
No differences.
`

it('stores and delivers real purchases exactly once, to the cent', async test => {
  const place = createInstallation(test)
  // Without a rate limit, which would add retries to the figures.
  await place.startReady({ environment: { SIGNALBOX_TRACKER_RATE_PER_SECOND: '0' } })
  const credentials = ['--credentials', join(place.dataFolder, 'credentials.json')]
  const run = (...options: string[]) => runProgram([MAIN, ...credentials, ...options])

  await test.test('sends every tenth purchase twice in a first run', async () => {
    const { code, stdout: log, stderr: terminal } = await run()
    assert.equal(log, WHOLE_SAMPLE)
    assert.equal(code, 0)
    // Without a terminal, each of the two tasks prints ten plain lines instead of a progress bar.
    assert.match(terminal, /^sent 761\/7610\n/)
    assert.match(terminal, /\nchecked 6919\/6919\n$/)
    assert.equal(terminal.split('\n').length, 10 + 10 + 1)
  })

  await test.test('finds every event and no difference in a second run', async () => {
    const { code, stdout: log } = await run('--first', '300')
    assert.equal(log, SECOND_RUN)
    assert.equal(code, 0)
  })

  await test.test('fails when the simulator lost its receipts', async () => {
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

it('exits with 1 and one sentence when it cannot run', async () => {
  const wrong: [string[], RegExp][] = [
    [['--credentials', '/nowhere.json'], /^Cannot read credentials from \/nowhere\.json: .+\.\n$/],
    [['--first', '0'], /^Usage: node examples\/cdnow\/main\.ts .+\n$/],
    [['--fast'], /^Usage: node examples\/cdnow\/main\.ts .+\n$/],
  ]
  for (const [options, sentence] of wrong) {
    const { code, stdout: log, stderr: terminal } = await runProgram([MAIN, ...options])
    assert.deepEqual([code, log], [1, ''])
    assert.match(terminal, sentence)
  }
})
