import { dirname, join } from 'node:path/posix'
import { Marked, type Tokens } from 'marked'

export interface Heading {
  depth: number
  /** Plain text. */
  text: string
  id: string
}

export interface RenderedPage {
  title: string
  html: string
  /** The same page as Markdown, with links that work at its address. */
  markdown: string
  headings: Heading[]
}

interface PageSource {
  /** From the root of the repository; relative links start there. */
  source: string
  text: string
}

/** Returns the name of the page at /docs that comes from this file, or null. */
export type FindPage = (source: string) => string | null

/**
 * Renders a Markdown file as a page of the site and as Markdown. Links to other pages of the site
 * lead there; links to files that it does not have, such as source code, become plain text.
 * Diagrams are left out of the HTML, because drawing them needs a script; each has a table.
 */
export function renderMarkdown(page: PageSource, findPage: FindPage): RenderedPage {
  const markdown = resolveLinks(page, findPage)
  const headings: Heading[] = []
  const marked = new Marked({ gfm: true, renderer: createRenderer(headings) })
  const html = marked.parse(markdown, { async: false })
  const [title] = headings
  if (title?.depth !== 1) throw new Error(`${page.source} does not start with its title`)
  return { title: title.text, html, markdown, headings }
}

const FENCE = /(```[\s\S]*?\n *```)/

/** Rewrites the links outside of code; comments of generated files are left out. */
function resolveLinks({ source, text }: PageSource, findPage: FindPage): string {
  return text
    .split(FENCE)
    .map((part, index) => (index % 2 === 1 ? part : resolveLinksOf(part, source, findPage)))
    .join('')
    .replaceAll(/<!--[\s\S]*?-->\n+/g, '')
}

/** Code by itself, which is skipped, or a link, whose label may hold code. */
const CODE_OR_LINK = /`[^`\n]*`|\[((?:[^\]`]|`[^`]*`)+)\]\(([^)\s]+)\)/g

function resolveLinksOf(prose: string, source: string, findPage: FindPage): string {
  return prose.replaceAll(CODE_OR_LINK, (match, label?: string, target?: string) => {
    if (label === undefined || target === undefined) return match
    if (/^([a-z]+:|#|\/)/i.test(target)) return match
    const [file = '', anchor] = target.split('#')
    const name = findPage(join(dirname(source), file))
    if (name === null) return label
    const hash = anchor === undefined ? '' : `#${anchor}`
    return `[${labelOf(label, name)}](${markdownPath(name)}${hash})`
  })
}

/** Where the Markdown form of a page is. */
export function markdownPath(name: string): string {
  return name === '' ? '/docs.md' : `/docs/${name}.md`
}

/** A file name as a label says nothing on the site. */
function labelOf(label: string, name: string): string {
  return /^[\w./-]+\.md$/.test(label) ? name.replaceAll('-', ' ') : label
}

/** The anchor that code hosts generate for a heading. */
export function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')
}

/** A heading without Markdown's marks. */
export function headingText(source: string): string {
  return source.replaceAll(/[`*]|\[|\]\([^)]*\)/g, '').trim()
}

/** Headings get anchors; wide tables and code scroll by themselves, with the keyboard too. */
function createRenderer(headings: Heading[]) {
  const used = new Map<string, number>()
  return {
    heading(this: Rendering, { tokens, depth, text: source }: Tokens.Heading): string {
      const text = headingText(source)
      const slug = slugOf(text)
      const repeated = used.get(slug) ?? 0
      used.set(slug, repeated + 1)
      const id = repeated === 0 ? slug : `${slug}-${repeated}`
      headings.push({ depth, text, id })
      const content = this.parser.parseInline(tokens)
      if (depth === 1) return `<h1 id="${id}">${content}</h1>\n`
      return `<h${depth} id="${id}"><a class="anchor" href="#${id}">${content}</a></h${depth}>\n`
    },
    code({ text, lang = '' }: Tokens.Code): string {
      if (lang === 'mermaid') return ''
      return `<pre tabindex="0"><code>${escapeHtml(text)}</code></pre>\n`
    },
    table(this: Rendering, { header, rows }: Tokens.Table): string {
      const row = (cells: Tokens.TableCell[]) =>
        cells
          .map(({ tokens, header: isHead }) => {
            const content = this.parser.parseInline(tokens)
            return isHead ? `<th scope="col">${content}</th>` : `<td>${content}</td>`
          })
          .join('')
      const body = rows.map(cells => `<tr>${row(cells)}</tr>`).join('\n')
      const head = `<thead><tr>${row(header)}</tr></thead>`
      const table = `<table>${head}<tbody>\n${body}\n</tbody></table>`
      return `<div class="table" role="group" aria-label="Table" tabindex="0">${table}</div>\n`
    },
    link(this: Rendering, { href, tokens }: Tokens.Link): string {
      const target = href.replace(/^(\/docs\b[^#]*)\.md(?=#|$)/, '$1')
      return `<a href="${escapeHtml(target)}">${this.parser.parseInline(tokens)}</a>`
    },
    html({ text }: Tokens.HTML | Tokens.Tag): string {
      return escapeHtml(text)
    },
  }
}

interface Rendering {
  parser: { parseInline(tokens: Tokens.Generic[]): string }
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
