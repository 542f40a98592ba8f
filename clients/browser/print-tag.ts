import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildTag, TAG_FILE } from './build-tag.ts'

// npm run browser:build writes the tag, its integrity, and the hash in the README's snippet.
const at = (path: string) => join(import.meta.dirname, path)
const { script, integrity } = await buildTag()
writeFileSync(at(`dist/${TAG_FILE}`), script)
writeFileSync(at('dist/integrity.json'), `${JSON.stringify(integrity, null, 2)}\n`)
const readme = readFileSync(at('README.md'), 'utf8')
writeFileSync(at('README.md'), readme.replaceAll(/sha384-[A-Za-z0-9+/]{64}/g, integrity.sha384))
console.log(`browser/dist/${TAG_FILE}: ${script.length} characters, ${integrity.sha384}`)
