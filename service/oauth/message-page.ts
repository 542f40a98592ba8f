import { html } from 'ghtml'

export interface Message {
  title: string
  sentence: string
}

/** A page that only says something. */
export function messagePage({ title, sentence }: Message): { title: string; body: string } {
  return {
    title,
    body: html`<section class="card">
<h1>${title}</h1>
<p>${sentence}</p>
</section>`,
  }
}
