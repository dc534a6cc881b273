# Sources of retort::privacy, relative to experiments/, and the libraries only its .cc files see.
find_package(Boost REQUIRED)  # Math and Multiprecision: headers alone
set(RETORT_PRIVACY_LIBS Boost::headers)
set(RETORT_PRIVACY_SOURCES
    privacy/accountant.cc
    privacy/audit_bounds.cc
    privacy/calculator.cc
    privacy/calculator_papers.cc
    privacy/calculator_rules.cc
    privacy/calculator_solve.cc
    privacy/calibration.cc
    privacy/claim.cc
    privacy/claims.cc
    privacy/composition.cc
    privacy/discrete_gaussian.cc
    privacy/exact_gdp.cc
    privacy/exact_sum.cc
    privacy/fourier.cc
    privacy/json_fields.cc
    privacy/laplace.cc
    privacy/loss_composition.cc
    privacy/loss_grid.cc
    privacy/number_text.cc
    privacy/paper_events.cc
    privacy/paper_formulas.cc
    privacy/planned_events.cc
    privacy/pld_accountant.cc
    privacy/pld_calibration.cc
    privacy/privacy_event.cc
    privacy/privacy_statement.cc
    privacy/published_settings.cc
    privacy/randomized_response.cc
    privacy/rdp_accountant.cc
    privacy/reasons.cc
    privacy/relation.cc
    privacy/subsampled_delta.cc
    privacy/subsampled_rdp.cc
    privacy/trial_statement.cc)
