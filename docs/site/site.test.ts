import assert from 'node:assert/strict'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, it } from 'node:test'
import { DOCUMENTED_OPERATIONS } from '@signalbox/contract/operations.ts'
import {
  DOCS_SITE_FILE,
  type DocsSite,
  joinPagesForAgents,
  listPagesForAgents,
} from '../../service/program/documents/published-documents.ts'
import { buildDocs } from './build.ts'
import { API_PAGE, HOME_PAGE, PAGE_GROUPS, SCHEMAS_PAGE } from './site-pages.ts'

let site: DocsSite
before(async () => {
  await buildDocs()
  site = readSite()
})

/** Pages about the code itself, for readers who have it. */
const FOR_CONTRIBUTORS = [
  'docs/guides/add-a-platform.md',
  'docs/operations/asvs.md',
  'docs/operations/supply-chain.md',
  'docs/operations/test-report.md',
  'docs/operations/threat-model.md',
]

/** Addresses outside of /docs that pages link to, all served by every installation. */
const OTHER_PATHS = ['/openapi.json', '/workspaces']

it('has a page for each entry of the navigation', () => {
  const listed = PAGE_GROUPS.flatMap(({ pages }) => pages).map(({ name }) => name)
  const names = [HOME_PAGE.name, ...listed, API_PAGE.name, SCHEMAS_PAGE.name]
  assert.deepEqual(
    site.pages.map(({ name }) => name),
    names,
  )
  assert.equal(new Set(names).size, names.length)
})

it('has every page of docs/guides, docs/operations and docs/reference, except for contributors', () => {
  const listed = [HOME_PAGE, ...PAGE_GROUPS.flatMap(({ pages }) => pages)].map(page => page.source)
  const written = globSync('docs/{guides,operations,reference}/*.md')
  assert.deepEqual(written.filter(source => !listed.includes(source)).sort(), FOR_CONTRIBUTORS)
})

it('every link and anchor of the HTML leads to something', () => {
  const targets = new Set([...OTHER_PATHS, site.stylesheet.path])
  for (const { name, html } of site.pages) {
    const path = pathOf(name)
    targets.add(path).add(`${path === '/docs' ? '/docs' : path}.md`)
    for (const [, id] of html.matchAll(/ id="([^"]+)"/g)) targets.add(`${path}#${id}`)
  }
  const broken = site.pages.flatMap(({ name, html }) =>
    [...html.matchAll(/ (?:href|action)="([^"]*)"/g)]
      .map(([, target = '']) => (target.startsWith('#') ? pathOf(name) + target : target))
      .filter(target => target.startsWith('/') && target !== '/docs/search')
      .filter(target => !targets.has(target))
      .map(target => `${name}: ${target}`),
  )
  assert.deepEqual(broken, [])
  const unknown = site.sections.map(({ path }) => path).filter(path => !targets.has(path))
  assert.deepEqual(unknown, [])
})

it('every link of the Markdown leads to a page and a heading that exist', () => {
  const anchors = new Set(
    site.pages.flatMap(({ name, html }) =>
      [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => `${pathOf(name)}.md#${id}`),
    ),
  )
  const paths = new Set(site.pages.map(({ name }) => `${pathOf(name)}.md`))
  let count = 0
  for (const { name, markdown } of site.pages) {
    for (const target of markdownLinks(markdown)) {
      count += 1
      const absolute = target.startsWith('#') ? `${pathOf(name)}.md${target}` : target
      const isKnown = OTHER_PATHS.includes(absolute) || paths.has(absolute) || anchors.has(absolute)
      assert.ok(isKnown || /^https?:/.test(absolute), `${name}: ${target}`)
    }
  }
  assert.ok(count > 500)
})

it('shows every operation and schema of the contract', () => {
  const [api = '', schemas = ''] = ['api', 'schemas'].map(
    name => site.pages.find(page => page.name === name)?.html ?? '',
  )
  for (const { config } of DOCUMENTED_OPERATIONS) {
    assert.match(api, new RegExp(` id="${config.operationId.toLowerCase()}"`))
  }
  const contract = JSON.parse(readFileSync('contract/openapi.json', 'utf8'))
  for (const name of Object.keys(contract.components.schemas)) {
    assert.match(schemas, new RegExp(` id="${name.toLowerCase()}"`))
  }
})

it('needs no script, no inline style and nothing from another host', () => {
  for (const { name, html } of site.pages) {
    assert.doesNotMatch(html, /<script|<style|<[^>]+ (style|on\w+)=/i, name)
    const loaded = [...html.matchAll(/<(?:link|img|iframe|source)[^>]+?(?:href|src)="([^"]*)"/g)]
    for (const [, target = ''] of loaded) assert.match(target, /^(\/docs|data:,)/, name)
  }
  assert.doesNotMatch(site.stylesheet.text, /@import|url\(/)
})

it('lists every page for language models, and joins all of them', () => {
  const list = listPagesForAgents(site)
  const all = joinPagesForAgents(site)
  for (const { name, title, description, markdown } of site.pages) {
    assert.ok(list.includes(`[${title}]({site_origin}${pathOf(name)}.md): ${description}`), name)
    assert.ok(all.includes(markdown.trim()), name)
  }
})

it('finds no heading inside of code', () => {
  const erasure = site.sections.filter(({ path }) => path.startsWith('/docs/erasure'))
  assert.ok(erasure.length > 5)
  assert.ok(erasure[0]?.text.includes('# The digest of one identifier'))
})

it('is rebuilt when a source changed, and only then', async test => {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-site-'))
  test.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'site.json')
  assert.equal(await buildDocs(file), true)
  assert.equal(await buildDocs(file), false)
  writeFileSync(file, JSON.stringify({ ...site, digest: 'stale' }))
  assert.equal(await buildDocs(file), true)
  assert.deepEqual(readSite(file), site)
})

function readSite(file = DOCS_SITE_FILE): DocsSite {
  return JSON.parse(readFileSync(file, 'utf8'))
}

function pathOf(name: string): string {
  return name === '' ? '/docs' : `/docs/${name}`
}

function markdownLinks(markdown: string): string[] {
  const prose = markdown.replaceAll(/```[\s\S]*?```|`[^`\n]*`/g, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target)
}
