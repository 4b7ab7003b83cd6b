// Package part has the contracts between the builder of tensors and the parts that a configuration names: sources,
// splits, task losses, advice, experts and features.
//
// A kind of part is a constructor, such as NewExpert. It gets a Setup: what the build already has, and how to decode
// settings, open files and models, and share what several parts need. Kinds are listed by name in Kinds. A program adds
// kinds to the built-in ones through the options of the builder.
package part
