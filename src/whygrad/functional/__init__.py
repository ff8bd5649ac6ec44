from whygrad.functional.pointwise import *
