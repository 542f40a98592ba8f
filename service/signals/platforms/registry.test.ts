import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { it } from 'node:test'
import { UNMARKED_IDENTITY } from '../events/column-encoding.ts'
import { createOfflinePlatforms, PlatformRegistry } from './registry.ts'

it('tests every platform of the registry', () => {
  const names = createOfflinePlatforms().all.map(({ name }) => name)
  const tested = names.filter(name => {
    const file = new URL(`${name.replaceAll('_', '-')}/conformance.test.ts`, import.meta.url)
    return existsSync(file) && readFileSync(file, 'utf8').includes(`testPlatform('${name}', `)
  })
  assert.deepEqual(tested, names)
})

it('keeps the mark of each platform, which stored rows have', () => {
  const marks = createOfflinePlatforms().all.map(({ name, identityMark }) => [name, identityMark])
  assert.deepEqual(marks, [
    ['meta', 'm'],
    ['google_ads', 'g'],
    ['pinterest', 'p'],
    ['tiktok', 't'],
    ['snapchat', 's'],
    ['openai_ads', 'o'],
    ['linkedin', 'l'],
    ['reddit', 'r'],
    ['microsoft_ads', 'b'],
    ['webhook', 'w'],
  ])
  assert.equal(UNMARKED_IDENTITY, 'm')
})

it('refuses a registry without platforms or with a name or a mark twice', () => {
  const [meta] = createOfflinePlatforms().all as [PlatformRegistry['all'][number]]
  assert.throws(() => new PlatformRegistry([]), /needs a platform/)
  assert.throws(() => new PlatformRegistry([meta, meta]), /two platforms have one name/)
  const other = { ...meta, name: 'other' }
  assert.throws(() => new PlatformRegistry([meta, other]), /two platforms have one identity mark/)
  assert.equal(new PlatformRegistry([meta]).find('constructor'), null)
})

it('redacts the answers of a platform once, however often a registry is mapped', () => {
  const { all } = createOfflinePlatforms()
  const mapped = new PlatformRegistry(all).map(platform => platform)
  assert.deepEqual(
    mapped.all.map(({ send }) => send),
    all.map(({ send }) => send),
  )
})
