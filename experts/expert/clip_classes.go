package expert

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/classlist"
)

// listClasses reads the labels and names of the classes.
func (e *clip) listClasses(ctx context.Context, s *part.Setup) error {
	e.labels, e.names = s.Labels, s.Labels
	if e.Classes != "" {
		list, err := classlist.Open(ctx, s, "classes", e.Classes)
		if err != nil {
			return fmt.Errorf("read classes: %w", err)
		}
		e.labels, e.names = list.IDs, list.Names
	}
	if e.Names != "" {
		if err := e.readNames(ctx, s); err != nil {
			return fmt.Errorf("read names: %w", err)
		}
	}
	return e.checkLabels(s.Labels)
}

func (e *clip) readNames(ctx context.Context, s *part.Setup) (err error) {
	if e.names, err = classlist.OpenNames(ctx, s, "names", e.Names); err != nil {
		return err
	}
	if len(e.names) != len(e.labels) {
		return &costs.DataError{File: s.Path(e.Names).String(), Msg: fmt.Sprintf("has %d names for %d classes", len(e.names), len(e.labels))}
	}
	return nil
}

// checkLabels checks that the labels of the build are classes.
func (e *clip) checkLabels(labels []string) error {
	if len(e.labels) == 0 {
		return errors.New("classes: not set, here or as labels of the configuration")
	}
	known := make(map[string]bool, len(e.labels))
	for _, l := range e.labels {
		known[l] = true
	}
	for _, l := range labels {
		if !known[l] {
			return fmt.Errorf("classes: label %q of the instances is missing", l)
		}
	}
	return nil
}

// listFamilies collects the distinct families of templates that the levels of
// advice show. A level that shows no prompts is an error.
func (e *clip) listFamilies(s *part.Setup) error {
	levels, err := s.TakenLevels()
	if err != nil {
		return err
	}
	e.takes = make(map[string]bool)
	for _, k := range levels {
		level := s.Levels[k]
		if level.Kind == "none" {
			return fmt.Errorf("advice %q shows no prompts to compare an image with: use kind prompts with a count of 1, or list it under unavailable", level.Name)
		}
		a, ok := level.Advice.(part.PromptLister)
		if !ok {
			continue
		}
		e.takes[level.Name] = true
		if e.family(a.Templates()) < 0 {
			e.families = append(e.families, a.Templates())
		}
	}
	if len(e.families) == 0 {
		return errors.New("none of its advice is of kind prompts")
	}
	return nil
}

// family returns the index of a family, -1 if it is not known.
func (e *clip) family(templates []string) int {
	return slices.IndexFunc(e.families, func(f []string) bool { return slices.Equal(f, templates) })
}
