import assert from 'node:assert/strict'
import { it } from 'node:test'
import { sharedMegabytes } from './embedded-server-settings.ts'

const GIGABYTE = 2 ** 30

it('gives the embedded server an eighth of the memory, within bounds', () => {
  assert.equal(sharedMegabytes(8 * GIGABYTE), 1_024)
  assert.equal(sharedMegabytes(GIGABYTE / 2), 128)
  assert.equal(sharedMegabytes(64 * GIGABYTE), 2_048)
})
