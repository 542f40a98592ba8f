import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readSettings } from './read-settings.ts'

it('listens on loopback and port 3001 by default', () => {
  const settings = { host: '127.0.0.1', port: 3001, eventsMax: 500_000, exitWithParent: false }
  assert.deepEqual(readSettings({}, []), settings)
  const empty = { SIMULATOR_HOST: '', SIMULATOR_PORT: '', SIMULATOR_EVENTS_MAX: '' }
  assert.deepEqual(readSettings(empty, []), settings)
})

it('reads host, port, number of events and the flag', () => {
  const environment = {
    SIMULATOR_HOST: '0.0.0.0',
    SIMULATOR_PORT: '0',
    SIMULATOR_EVENTS_MAX: '10',
  }
  const settings = { host: '0.0.0.0', port: 0, eventsMax: 10, exitWithParent: true }
  assert.deepEqual(readSettings(environment, ['--exit-with-parent']), settings)
})

it('describes an invalid setting in one sentence', () => {
  const wrong: [Record<string, string>, string[], RegExp][] = [
    [{ SIMULATOR_PORT: 'http' }, [], /^SIMULATOR_PORT must .+ 0 to 65535\.$/],
    [{ SIMULATOR_PORT: '65536' }, [], /^SIMULATOR_PORT must/],
    [{ SIMULATOR_PORT: '-1' }, [], /^SIMULATOR_PORT must/],
    [{ SIMULATOR_EVENTS_MAX: '0' }, [], /^SIMULATOR_EVENTS_MAX must .+ 1 to 10000000\.$/],
    [{ SIMULATOR_EVENTS_MAX: '1e3' }, [], /^SIMULATOR_EVENTS_MAX must/],
    [{}, ['--port'], /^Unknown argument --port\. The only option is --exit-with-parent\.$/],
  ]
  for (const [environment, flags, sentence] of wrong) {
    const settings = readSettings(environment, flags)
    assert.ok('problem' in settings)
    assert.match(settings.problem, sentence)
  }
})
