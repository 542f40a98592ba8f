import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { crc32, deflateRawSync } from 'node:zlib'
import { DISTRIBUTIONS } from './distributions.ts'

const MODULE = DISTRIBUTIONS.go
/** 1980, where the dates of zip files begin: the same files make the same archive. */
const DATE = 0x00_21_00_00
const LOCAL_HEADER_BYTES = 30
const CENTRAL_HEADER_BYTES = 46
const END_BYTES = 22
const DEFLATE = 8

/** The archive of a version, as a module proxy serves it. */
export function zipGoModule(folder: string, paths: readonly string[], version: string): Buffer {
  const nested = paths.filter(path => path.endsWith('/go.mod')).map(path => `${dirname(path)}/`)
  const own = paths.filter(path => !nested.some(module => path.startsWith(module)))
  return zip(
    own.toSorted().map(path => ({
      name: Buffer.from(`${MODULE}@v${version}/${path}`),
      content: readFileSync(join(folder, path)),
    })),
  )
}

interface ZipEntry {
  name: Buffer
  content: Buffer
}

/** Node.js has no archives. These have no folders, no comments and less than 4 GiB. */
function zip(entries: readonly ZipEntry[]): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const { name, content } of entries) {
    const packed = deflateRawSync(content)
    // From "version needed" to "length of the extra field": the same in both headers.
    const facts = Buffer.alloc(26)
    facts.writeUInt16LE(20, 0)
    facts.writeUInt16LE(DEFLATE, 4)
    facts.writeUInt32LE(DATE, 6)
    facts.writeUInt32LE(crc32(content), 10)
    facts.writeUInt32LE(packed.length, 14)
    facts.writeUInt32LE(content.length, 18)
    facts.writeUInt16LE(name.length, 22)
    const central = Buffer.alloc(CENTRAL_HEADER_BYTES)
    central.writeUInt32LE(0x02_01_4b_50, 0)
    central.writeUInt16LE(20, 4)
    facts.copy(central, 6)
    central.writeUInt32LE(offset, 42)
    directory.push(central, name)
    parts.push(Buffer.from('PK\x03\x04', 'latin1'), facts, name, packed)
    offset += LOCAL_HEADER_BYTES + name.length + packed.length
  }
  const end = Buffer.alloc(END_BYTES)
  end.writeUInt32LE(0x06_05_4b_50, 0)
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(Buffer.concat(directory).length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...parts, ...directory, end])
}

/**
 * Serves the archive as a module proxy would, from a folder, and vets and compiles a program that
 * requires it. Returns what was checked. Nothing is downloaded.
 */
export function checkGoModule(archive: string, version: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-go-release-'))
  const versions = join(folder, 'proxy', MODULE, '@v')
  const place = (name: string, content: string | Buffer) => {
    mkdirSync(versions, { recursive: true })
    writeFileSync(join(versions, name), content)
  }
  const env = {
    ...process.env,
    GOPROXY: `file://${join(folder, 'proxy')}`,
    GOMODCACHE: join(folder, 'modules'),
    GOFLAGS: '-mod=mod -modcacherw',
    GONOSUMDB: '*',
    GOTOOLCHAIN: 'local',
  }
  const shop = join(folder, 'shop')
  const go = (...args: string[]) =>
    execFileSync('go', args, { cwd: shop, env, encoding: 'utf8', stdio: 'pipe' })
  try {
    place('list', `v${version}\n`)
    place(
      `v${version}.info`,
      JSON.stringify({ Version: `v${version}`, Time: '2000-01-01T00:00:00Z' }),
    )
    place(`v${version}.mod`, `module ${MODULE}\n\ngo 1.23\n`)
    place(`v${version}.zip`, readFileSync(archive))
    mkdirSync(shop)
    writeFileSync(join(shop, 'go.mod'), 'module example.com/shop\n\ngo 1.23\n')
    writeFileSync(join(shop, 'main.go'), PROGRAM)
    go('get', `${MODULE}@v${version}`)
    go('vet', MODULE, '.')
    const output = go('run', '.')
    if (output !== `${version}\n`) throw new Error(`The Go module says that it is ${output}.`)
    for (const name of ['LICENSE', 'README.md', 'CHANGELOG.md']) {
      if (existsSync(join(folder, 'modules', `${MODULE}@v${version}`, name))) continue
      throw new Error(`The Go module has no ${name}.`)
    }
    return 'go vet from the archive; a program that requires it runs'
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const PROGRAM = `package main

import (
	"fmt"

	signalbox "${MODULE}"
)

func main() { fmt.Println(signalbox.Version) }
`
