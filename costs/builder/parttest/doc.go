// Package parttest has what the tests of a build and of several kinds of parts need: files, small images, small builds of
// images with their configuration, the laws of all experts, the images that a source refuses, the error of a table that
// memory has no room for, and an encoder of texts without a model. It is for tests only.
package parttest
