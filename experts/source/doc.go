// Package source has the kinds of sources: where the instances of a build come from. A table has a row per instance,
// images are the files of a folder, fever is a file of claims, and tabular is a table of numbers made by pipe
// featurize.
//
// It imports the contracts of parts, costs for splits and errors, experts/classlist for the classes of images and claims,
// featurize/pixel to decode images, and featurize/tabular to read tables of numbers.
package source
