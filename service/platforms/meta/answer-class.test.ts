import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { SendOutcome } from '../send-outcome.ts'
import { classOfMetaCode } from './answer-class.ts'

type Row = [code: number | null, subcode: number | null, isTransient: boolean, SendOutcome]

/** Every row of the code table in ../shared/reference/domain.md, section A, and its neighbours. */
const TABLE: Row[] = [
  [1, null, false, 'retry'],
  [1, 99, false, 'retry'],
  [2, null, false, 'retry'],
  [3, null, false, 'config'],
  [4, null, false, 'throttle'],
  [4, 1_504_022, true, 'throttle'],
  [4, 1_504_039, false, 'throttle'],
  [10, null, false, 'config'],
  [17, null, false, 'throttle'],
  [17, 2_446_079, false, 'throttle'],
  [32, null, false, 'throttle'],
  [100, null, false, 'permanent'],
  [100, 2_804_001, false, 'permanent'],
  [100, 2_804_003, false, 'permanent'],
  [100, 2_804_007, false, 'permanent'],
  [100, 2_804_009, false, 'permanent'],
  [100, 2_804_016, false, 'permanent'],
  [100, 2_804_017, false, 'permanent'],
  [100, 2_804_019, false, 'permanent'],
  [100, 2_804_048, false, 'permanent'],
  [100, 2_804_050, false, 'permanent'],
  [100, 33, false, 'config'],
  [102, null, false, 'auth'],
  [104, null, false, 'config'],
  ...[null, 458, 459, 460, 463, 464, 467, 492].map((subcode): Row => [190, subcode, false, 'auth']),
  [200, null, false, 'config'],
  [294, null, false, 'config'],
  [299, null, false, 'config'],
  [341, null, false, 'retry'],
  [368, null, false, 'retry'],
  [506, null, false, 'permanent'],
  [613, null, false, 'throttle'],
  [613, 1_487_742, false, 'throttle'],
  [613, 5_044_001, false, 'throttle'],
  [803, null, false, 'config'],
  [2_500, null, false, 'config'],
  [2_635, null, false, 'config'],
  [5_000, null, false, 'retry'],
  ...[80_000, 80_001, 80_002, 80_003, 80_004, 80_005, 80_006, 80_008, 80_009, 80_014].map(
    (code): Row => [code, null, false, 'throttle'],
  ),
  [-1, null, false, 'retry'],
  [-3, 99, false, 'retry'],
  // is_transient: a retry whatever the code, except for a token.
  [100, 2_804_003, true, 'retry'],
  [100, 33, true, 'retry'],
  [200, null, true, 'retry'],
  [102, null, true, 'retry'],
  [9_999, null, true, 'retry'],
  [190, 463, true, 'auth'],
  // Nobody knows: the events may be there, so they go out again under the same id.
  [9_999, null, false, 'unknown'],
  [199, null, false, 'unknown'],
  [300, null, false, 'unknown'],
  [79_999, null, false, 'unknown'],
  [80_015, null, false, 'unknown'],
  [0, null, false, 'unknown'],
  [null, null, false, 'unknown'],
  [null, 33, true, 'unknown'],
]

for (const [code, subcode, isTransient, outcome] of TABLE) {
  const name = [code, ...(subcode === null ? [] : [subcode])].join('/')
  it(`${name}${isTransient ? ', transient,' : ''} means ${outcome}`, () => {
    assert.equal(classOfMetaCode({ code, subcode, isTransient }).outcome, outcome)
  })
}

it('asks for a minute where Meta throttles, and longer where it blocks', () => {
  const waitOf = (code: number) =>
    classOfMetaCode({ code, subcode: null, isTransient: false }).waitSecondsMin
  assert.deepEqual([4, 17, 613, 80_004].map(waitOf), [60, 60, 60, 60])
  assert.deepEqual([341, 368].map(waitOf), [600, 3_600])
  assert.deepEqual([1, 2, 5_000, 100, 190, 200].map(waitOf), [0, 0, 0, 0, 0, 0])
})
