// Package parttest has what the tests of several kinds of parts need: an encoder of texts without a model. It is for tests
// only.
package parttest
