import assert from 'node:assert/strict'
import { it } from 'node:test'
import { countHttpConnections, countHttpWorkers, divideConnections } from './read-settings.ts'

it('runs one worker less than CPU cores, and none on a single core', () => {
  const linux = (cores: number) => ({ cores, canReusePort: true })
  const counts = (httpWorkers?: number) =>
    [1, 2, 4, 9, 32].map(cores => countHttpWorkers({ httpWorkers }, linux(cores)))
  assert.deepEqual(counts(), [0, 1, 3, 8, 8])
  assert.deepEqual(counts(2), [0, 2, 2, 2, 2])
  assert.deepEqual(counts(0), [0, 0, 0, 0, 0])
  const macos = { cores: 8, canReusePort: false }
  assert.equal(countHttpWorkers({ httpWorkers: undefined }, macos), 1)
  assert.equal(countHttpWorkers({ httpWorkers: 4 }, macos), 1)
})

it('workers share the database connections of the process, at least four each', () => {
  assert.deepEqual(
    [1, 2, 3, 8].map(workers => divideConnections(10, workers)),
    [10, 5, 4, 4],
  )
})

it('counts the connections of all workers, or those of the main thread', () => {
  assert.deepEqual(
    [0, 1, 3, 8].map(workers => countHttpConnections(10, workers)),
    [10, 10, 12, 32],
  )
})
