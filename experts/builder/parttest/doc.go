// Package parttest has helpers for tests of builds and of the kinds of parts: files, small images, small image builds with
// their configuration, laws of all experts, checks of rejected images and of the error of a table that exceeds the memory
// limit, and a text encoder without a model. It is for tests only.
package parttest
