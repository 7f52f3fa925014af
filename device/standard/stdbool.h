#pragma once

// bool, true and false are words of the language.
#define __bool_true_false_are_defined 1
