import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { AuditLogEntry } from '@signalbox/contract/agents/audit.ts'
import {
  actorLabel,
  auditActionLabel,
  proposalOf,
  subjectLabel,
  subjectText,
} from './src/audit/entry-texts.ts'

function entryAbout(type: string, id: string, details: object = {}): AuditLogEntry {
  const actor = { type: 'operator', id: null, name: null }
  const at = '2026-11-21T12:00:00.000Z'
  const common = { sequence: 1, at, actor, action: 'key.issued', hash: 'ab'.repeat(32) }
  return { ...common, subject: { type, id }, details: { ...details } }
}

it('names what an entry is about, and the ending of a key', () => {
  const names = new Map([
    ['tracker t1', 'Test tracker'],
    ['member 7', 'new.member@people.example'],
    ['ad_account 3', 'Shop EU'],
    ['action 1', 'Autumn collection'],
  ])
  const key = { tracker_id: 't1', kind: 'tracker_secret', last_characters: 'd76f' }
  for (const [entry, text] of [
    [entryAbout('key', 'ab', key), 'tracker secret …d76f, Test tracker'],
    [entryAbout('key', 'ab', { ...key, tracker_id: 't2' }), 'tracker secret …d76f'],
    [entryAbout('member', '7'), 'new.member@people.example'],
    [entryAbout('member', '999999'), 'member 999999'],
    [entryAbout('ad_account', '3'), 'Shop EU'],
    [entryAbout('tracker', 't1'), 'tracker Test tracker'],
    [entryAbout('batch', '1'), 'proposal 1'],
    [entryAbout('action', '1'), 'Autumn collection'],
    [entryAbout('policy', '5'), 'policy'],
  ] as const) {
    assert.equal(subjectText(entry, names), text)
  }
})

it('links only to a proposal whose number is one', () => {
  assert.equal(proposalOf(entryAbout('batch', '12')), '12')
  assert.equal(proposalOf(entryAbout('action', '1', { batch_id: 12 })), '12')
  for (const id of ['../people', 'javascript:x', '0', '']) {
    assert.equal(proposalOf(entryAbout('batch', id)), null)
    assert.equal(proposalOf(entryAbout('action', '1', { batch_id: id })), null)
  }
  assert.equal(proposalOf(entryAbout('member', '12')), null)
})

it('shows a code of another version as it is', () => {
  assert.equal(auditActionLabel('policy.changed'), 'Policy changed')
  assert.equal(auditActionLabel('constructor'), 'constructor')
  assert.equal(subjectLabel('new_thing'), 'new thing')
  assert.equal(actorLabel({ type: 'person', id: '7', name: null }), 'person 7')
  assert.equal(actorLabel({ type: 'system', id: null, name: null }), 'Signalbox')
})
