// Package bm25 finds pages by exact BM25. Build makes an index file of pages in
// FEVER's wiki-pages format, out of core and on all cores; Open maps it into
// memory, and Search returns the best pages of a query.
//
// The score of a page for a query is the sum, over the query's words in the
// order of their first occurrence, of
//
//	n ln(1 + (N - df + 0.5)/(df + 0.5)) tf/(tf + k1 (1 - b + b length/average))
//
// (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009, with
// the inverse document frequency of Lucene, which is never negative, and
// without the constant factor k1 + 1), in float64: n is the number of
// occurrences of the word in the query, N the number of pages, df the number of
// pages with the word, tf the number of occurrences in the page, length the
// number of words of the page. Every page that could be among the best is
// scored; nothing is quantised. Ties are ordered by the bytes of the pages'
// ids.
//
// docs/retrieval.md describes the file.
package bm25
