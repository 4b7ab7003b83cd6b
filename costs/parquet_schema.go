package costs

import (
	"fmt"
	"slices"
	"strings"

	"pipe/internal/column"
	"pipe/internal/parquetfile"
)

// leaves are the columns of one file; nil where the file has none.
type leaves struct {
	id, split, group, time, features, loss, fee, label, prediction, propensity *column.Leaf

	usage [Quantities]*column.Leaf
	facts []factLeaf // sorted by name
}

// findLeaves looks up the columns that the mode of reading needs. The error is
// a *DataError without a file.
func findLeaves(root *parquetfile.Column, o ReadOptions) (leaves, error) {
	featuresOnly := o.FeaturesOnly
	var l leaves
	text := []parquetfile.Kind{parquetfile.ByteArray}
	key := []parquetfile.Kind{parquetfile.ByteArray, parquetfile.Int32, parquetfile.Int64}
	number := []parquetfile.Kind{parquetfile.Float, parquetfile.Double}
	type wanted struct {
		at       **column.Leaf
		name     string
		list     bool
		kinds    []parquetfile.Kind
		required bool
		skip     bool
	}
	all := []wanted{
		{&l.id, colID, false, key, !featuresOnly, false},
		{&l.split, colSplit, false, text, true, featuresOnly},
		{&l.group, colGroup, false, key, false, featuresOnly},
		{&l.features, colFeatures, true, number, true, false},
		{&l.loss, colLoss, true, number, true, featuresOnly},
		{&l.fee, colFee, true, number, false, featuresOnly},
		{&l.label, colLabel, false, text, false, featuresOnly},
		{&l.prediction, colPrediction, true, text, false, featuresOnly},
		{&l.propensity, colPropensity, true, number, false, featuresOnly},
	}
	for q := range l.usage {
		all = append(all, wanted{&l.usage[q], Quantity(q).String(), true, number, false, featuresOnly})
	}
	for _, c := range all {
		if c.skip {
			continue
		}
		found, err := column.Find(root, c.name, c.list, c.kinds...)
		if err != nil {
			return l, &DataError{Column: c.name, Msg: err.Error()}
		}
		if found == nil && c.required {
			return l, &DataError{Column: c.name, Msg: "is missing; the file has " + columnNames(root)}
		}
		*c.at = found
	}
	var err error
	if !featuresOnly {
		if l.facts, err = findFacts(root); err != nil {
			return l, err
		}
	}
	if featuresOnly && !o.Times {
		return l, nil
	}
	l.time, err = findTime(root)
	return l, err
}

// findTime returns the leaf of the times, nil if the file has none.
func findTime(root *parquetfile.Column) (*column.Leaf, error) {
	top := root.Child(colTime)
	if top == nil {
		return nil, nil
	}
	values, err := top.FindTime()
	if err != nil {
		return nil, &DataError{Column: colTime, Msg: err.Error()}
	}
	return &column.Leaf{Column: values, Name: colTime}, nil
}

func columnNames(root *parquetfile.Column) string {
	var names []string
	for _, c := range root.Children {
		names = append(names, c.Name)
	}
	if len(names) > 12 {
		names = append(names[:12], fmt.Sprintf("and %d more", len(names)-12))
	}
	return strings.Join(names, ", ")
}

// otherColumns are the columns that are not part of the contract.
func otherColumns(root *parquetfile.Column) []string {
	known := append(quantityNames[:], colID, colSplit, colGroup, colTime, colFeatures, colLoss, colFee, colLabel, colPrediction, colPropensity)
	var names []string
	for _, c := range root.Children {
		if !slices.Contains(known, c.Name) && !strings.HasPrefix(c.Name, FactPrefix) {
			names = append(names, c.Name)
		}
	}
	return names
}
