package auto

import "pipe/models"

// Name is the name of the recipe and of its method.
const Name = "auto"

// Method is the method of the recipe's policies, for reports.
func Method() models.Method {
	m, err := models.MethodNamed(models.Ours)
	if err != nil {
		panic(err) // it is of that package
	}
	m.Name, m.About = Name, "the cheapest pair by a blend of estimated losses, chosen on held-out training rows, with a guard against losing to a fixed pair"
	return m
}
