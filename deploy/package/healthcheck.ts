/**
 * The health check of a container, which has no curl: exits with 0 when the address answers 200.
 * Without an address it asks the HTTP service whether it is ready.
 */
const ANSWER_MILLISECONDS_MAX = 4_000

const address = process.argv[2] ?? `http://127.0.0.1:${process.env.PORT || 3000}/readyz`
const problem = await fetch(address, { signal: AbortSignal.timeout(ANSWER_MILLISECONDS_MAX) }).then(
  async answer => (answer.status === 200 ? null : `${answer.status} ${await answer.text()}`),
  error => String(error.cause ?? error),
)
if (problem !== null) {
  process.stderr.write(`${address}: ${problem}\n`)
  process.exitCode = 1
}
