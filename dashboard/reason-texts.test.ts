import assert from 'node:assert/strict'
import { it } from 'node:test'
import { REFUSAL_RULES } from '@signalbox/contract/refusal-rules.ts'
import type { DeliveryIssue } from '@signalbox/contract/session/issues.ts'
import { describeIssue } from './src/issues/issue-texts.ts'
import { describeReason } from './src/overview/reason-texts.ts'

const ISSUE = { class: 'permanent', reason: null } as DeliveryIssue

it('names a reason of a stage in words, and one of another version as it is stored', () => {
  assert.equal(describeReason('no_platform_identity'), 'No identity for this platform')
  assert.equal(describeReason('credential_unreadable'), 'The credential cannot be read')
  assert.equal(describeReason('single_attempt'), 'The only attempt failed')
  assert.equal(describeReason('key_revoked'), REFUSAL_RULES.key_revoked.title)
  assert.equal(describeReason('of_another_version'), 'of another version')
  assert.equal(describeReason('constructor'), 'constructor')
})

it('describes an issue by its reason, else by the class of the answer', () => {
  const byClass = describeIssue(ISSUE).title
  assert.equal(byClass, 'The platform refused the content of the events')
  for (const reason of ['refused_by_platform', 'of_another_version', 'constructor']) {
    assert.equal(describeIssue({ ...ISSUE, reason }).title, byClass)
  }
  const local = { ...ISSUE, class: 'local', reason: 'no_test_code' } as DeliveryIssue
  assert.match(describeIssue(local).title, /no test event code/)
})
